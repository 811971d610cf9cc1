#include "launcher/probe/probe.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <utility>

#include "launcher/cluster/probed_node.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/stop_signals.hpp"
#include "launcher/run/failure.hpp"
#include "launcher/slurm/slurm_job.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct ProbeJob {
  const ProbeTarget* target = nullptr;
  std::string partition = {};
  std::string id = {};
  std::string output = {};
  std::string said = {};                           // the last thing told of it
  std::optional<Clock::time_point> ended_at = {};  // Slurm's word
  std::string end_state = {};
  bool over = false;
};

/// What a job that failed had to say, for one line.
std::string last_line(const std::string& text) {
  const auto end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  const auto begin = text.rfind('\n', end);
  auto line = text.substr(begin == std::string::npos ? 0 : begin + 1);
  line.resize(std::min<std::size_t>(line.find_last_not_of(" \t\r\n") + 1, 300));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return line;
}

class Probes {
 public:
  Probes(const SlurmFacts& slurm, System& system, const ProbeSettings& settings)
      : slurm_(slurm), system_(system), settings_(settings), pause_(settings.first_look) {}

  /// Submits to the first partition that accepts the job.
  void submit(const ProbeTarget& target) {
    ProbeJob job{.target = &target};
    std::string refusal;
    for (const auto& place : target.places) {
      job.partition = place.partition;
      job.output = fmt::format("{}/{}.out", settings_.folder, submitted_);
      const auto script = fmt::format("{}/{}.sbatch", settings_.folder, submitted_);
      // Made before the job makes it: what was once seen missing may stay so for a minute on NFS.
      auto good = write_file(job.output, "");
      if (good)
        good = write_file(script, render_probe_script(target, place, settings_.options,
                                                      settings_.program, job.output));
      auto id = good ? submit_job(system_, script).id : Result<std::string>(good.error());
      if (id) {
        ++submitted_;
        job.id = *id;
        jobs_.push_back(std::move(job));
        return;
      }
      refusal +=
          fmt::format("{}{}: {}", refusal.empty() ? "" : "; ", place.partition, id.error().what);
    }
    outcome_.missed.push_back({.target = target, .why = refusal});
  }

  ProbeOutcome follow(const StopSignals& signals) {
    const auto deadline = Clock::now() + settings_.within;
    auto next_look = Clock::now();
    while (std::any_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return !job.over; })) {
      if (signals.count() > 0) {
        outcome_.stopped_by = signals.first();
        give_up("stopped by " + signal_name(signals.first()));
        break;
      }
      const auto now = Clock::now();
      if (now >= next_look) {
        for (auto& job : jobs_)
          if (!job.over) look(job);
        next_look = now + pause_;
        pause_ = std::min(settings_.longest_look, pause_ + pause_ / 2);
      }
      if (Clock::now() >= deadline) {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(settings_.within);
        give_up(fmt::format("not done within {} s", seconds.count()));
        break;
      }
      signals.wait(std::min<milliseconds>(milliseconds(100), pause_));
    }
    return std::move(outcome_);
  }

 private:
  void tell(ProbeJob& job, const std::string& what) {
    if (what == job.said) return;
    job.said = what;
    system_.log(fmt::format("job {}, partition {}, {}: {}\n", job.id, job.partition,
                            shape_words(job.target->type), what));
  }

  void look(ProbeJob& job) {
    if (!job.ended_at) {
      const auto queued = queued_jobs(system_, job.id);
      if (!queued) {
        tell(job, "Slurm does not answer: " + queued.error().what);
        return;
      }
      const auto seen = queued->empty() ? QueuedJob{} : queued->front();
      if (!queued->empty() && !is_final_state(seen.state)) {
        const bool waits = is_waiting_state(seen.state);
        tell(job, waits ? explain_reason(seen.reason) : "running on " + seen.nodes);
        if (waits) return;
      } else {
        job.ended_at = Clock::now();
        const auto end = finished_job(system_, job.id);
        job.end_state = end ? end->state : seen.state;
      }
    }
    const auto text = system_.read_file(job.output);
    auto capture = text ? find_capture(*text) : Result<Capture>(text.error());
    if (capture) {
      keep(job, *std::move(capture));
    } else if (job.ended_at) {
      judge(job, capture.error(), text ? last_line(*text) : "");
    }
  }

  /// Called when the job has ended without a usable record.
  void judge(ProbeJob& job, const Error& why, const std::string& message) {
    const bool completed = job.end_state == "COMPLETED" || job.end_state.empty();
    const auto patience = completed ? settings_.output_patience : settings_.output_patience / 20;
    if (why.kind == ErrorKind::unavailable && Clock::now() - *job.ended_at < patience) return;
    std::string text =
        fmt::format("job {} ended{}{}", job.id, job.end_state.empty() ? "" : " ", job.end_state);
    if (why.kind != ErrorKind::unavailable)
      text += ": " + why.what;
    else if (!message.empty())
      text += ": " + message;
    else
      text += fmt::format(
          ", and its output in {} is empty here: start dllaunch probe in a folder "
          "that the nodes share with this machine",
          settings_.folder);
    miss(job, text);
  }

  void keep(ProbeJob& job, Capture capture) {
    auto& node = capture.node;
    node.type = job.target->type;
    node.cluster = slurm_.cluster;
    node.time = std::time(nullptr);
    node.partitions.clear();
    for (const auto& partition : slurm_.partitions)
      for (const auto& type : partition.node_types)
        if (same_description(type, node.type)) node.partitions.push_back(partition.name);
    auto files = write_probe(system_, node, capture.xml);
    if (!files) {
      miss(job, files.error().what);
      return;
    }
    job.over = true;
    tell(job, "seen on " + node.host);
    outcome_.kept.push_back({.node = std::move(node), .files = *std::move(files)});
  }

  void miss(ProbeJob& job, const std::string& why) {
    job.over = true;
    outcome_.missed.push_back({.target = *job.target, .why = why});
  }

  void give_up(const std::string& why) {
    for (auto& job : jobs_) {
      if (job.over) continue;
      const auto cancelled = cancel_job(system_, job.id);
      auto text = fmt::format("{}: job {}", why, job.id);
      if (!job.said.empty()) text += ", " + job.said;
      if (!cancelled)
        text += fmt::format("; scancel {} failed: {}", job.id, cancelled.error().what);
      miss(job, text);
    }
  }

  const SlurmFacts& slurm_;
  System& system_;
  const ProbeSettings& settings_;
  milliseconds pause_;
  int submitted_ = 0;
  std::vector<ProbeJob> jobs_;
  ProbeOutcome outcome_;
};

}  // namespace

ProbeOutcome execute_probes(const SlurmFacts& slurm, const std::vector<ProbeTarget>& targets,
                            System& system, const ProbeSettings& settings) {
  const StopSignals signals;
  Probes probes(slurm, system, settings);
  for (const auto& target : targets)
    if (signals.count() == 0) probes.submit(target);
  return probes.follow(signals);
}

}  // namespace dllaunch

#include "launcher/study/study_value.hpp"

#include <cmath>
#include <utility>

#include "launcher/monitor/line_pattern.hpp"
#include "launcher/os/line_tail.hpp"
#include "launcher/report/rank_times.hpp"
#include "launcher/report/run_series.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/run/stored_run.hpp"
#include "support/json_fields.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

/// Sets the last match of the pattern in a log.
void read_value(const std::string& log, const LinePattern& pattern, StudyRun& run) {
  std::string match;
  bool matched = false;
  const auto look = [&](const std::string& line) {
    if (auto part = pattern.part_of(line)) {
      match = *std::move(part);
      matched = true;
    }
  };
  LineTail lines(log);
  do {
    for (const auto& line : lines.read()) look(line);
  } while (lines.behind());
  look(lines.take_rest());
  if (!matched) {
    run.reason = "no line of rank 0's output matches study.value";
    return;
  }
  const auto value = parse_number<double>(match);
  if (value && std::isfinite(*value) && *value > 0) {
    run.value = *value;
  } else {
    run.reason = "study.value matches '" + match + "', which is no number above 0";
  }
}

/// What the built-in trainer recorded.
void read_training(const RunDir& dir, const Json& summary, StudyRun& run) {
  const auto images_per_s = value_at<std::optional<double>>(summary, "images_per_s");
  if (images_per_s && *images_per_s > 0) {
    run.value = *images_per_s;
  } else {
    run.reason = "the run has no throughput: it trained no epoch";
  }
  std::vector<double> epochs;
  for (const EpochEvent& epoch : read_series(dir.events()).epochs)
    if (epoch.seconds) epochs.push_back(*epoch.seconds);
  if (epochs.size() > 1) epochs.erase(epochs.begin());
  if (!epochs.empty()) run.epoch_s = median(epochs);
  const RankTimes times = read_rank_times(dir.path + "/ranks.csv");
  if (times.ranks.empty()) return;
  run.parts.assign(rank_parts.size(), 0);
  for (const auto& rank : times.ranks)
    for (std::size_t i = 0; i < rank_parts.size(); ++i)
      run.parts[i] += rank.mean[i] / static_cast<double>(times.ranks.size());
}

}  // namespace

void measure(System& system, const std::string& run_dir, const Job& job, StudyRun& run) {
  run.state = run.reason = "";
  run.value = run.epoch_s = std::nullopt;
  run.parts.clear();
  const auto stored = read_stored_run(system, run_dir);
  if (!stored) {
    run.reason = stored.error().what;
    return;
  }
  run.state = stored_status(*stored);
  if (run.state != "completed") {
    const auto why = value_at<std::string>(stored->summary, "reason");
    run.reason = run.state.empty() ? "it did not end" : run.state + (why.empty() ? "" : ": " + why);
    return;
  }
  if (!job.train.is_null()) {
    read_training(stored->dir, stored->summary, run);
    return;
  }
  const auto pattern = LinePattern::compile(job.study.value.value_or(""));
  if (!pattern) {
    run.reason = pattern.error().what;
    return;
  }
  const auto host = host_of_rank(stored->dir, 0);
  read_value(stored->dir.out() + "/" + rank_log_name(0, host), *pattern, run);
}

}  // namespace dllaunch

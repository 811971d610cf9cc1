// Prints the merged output of a run's ranks; follows a run that is still running.
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "launcher/base/moment.hpp"
#include "launcher/base/shell_quote.hpp"
#include "launcher/base/unix_seconds.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/monitor/find_run.hpp"
#include "launcher/monitor/line_pattern.hpp"
#include "launcher/monitor/observe_runs.hpp"
#include "launcher/monitor/rank_output.hpp"
#include "launcher/postmortem/finalize.hpp"
#include "launcher/postmortem/slurm_outcome.hpp"
#include "launcher/run/job_record.hpp"
#include "launcher/run/rank_logs.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::string_view logs_examples =
    R"(  dllaunch logs resnet50            all ranks of its newest run, equal lines once
  dllaunch logs -f 4711             of a Slurm job, until it ends; the exit code is the job's
  dllaunch logs resnet50 --rank 3   one rank, as it wrote it
  dllaunch logs -fn 20              the newest run: its last 20 lines, and what follows
  dllaunch logs resnet50 --since 1h --grep 'loss|error'
  dllaunch logs 4711_2              one task of a job array
)";

struct LogsArguments {
  std::string run;
  bool follow = false;
  std::optional<int> rank;
  std::optional<int> tail;
  std::string since;
  std::string grep;
};

/// What of the output is shown, from the options.
struct Selection {
  std::optional<double> since_s;
  std::optional<LinePattern> pattern;
};

Result<Selection> selection_of(const LogsArguments& options) {
  Selection selection;
  if (!options.since.empty()) {
    selection.since_s = moment_in(options.since, unix_seconds());
    if (!selection.since_s)
      return Error{ErrorKind::bad_request,
                   fmt::format("--since: '{}' is not a time", options.since),
                   "write 10m, 2h, 1d, 08:30, 2026-11-24 or 2026-11-24T08:30"};
  }
  if (!options.grep.empty()) {
    auto pattern = LinePattern::compile(options.grep);
    if (!pattern) return std::move(pattern).error().within("--grep");
    selection.pattern = *std::move(pattern);
  }
  return selection;
}

double seconds_now() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

/// "2" of "task-2"; empty for another folder.
std::string task_of(const std::string& folder) {
  constexpr std::string_view mark = "task-";
  const std::string task = folder.starts_with(mark) ? folder.substr(mark.size()) : "";
  return task.find_first_not_of("0123456789") == std::string::npos ? task : "";
}

/// The output of a run; of an array, one text per task.
class Output {
 public:
  Output(const StoredRun& run, const LogsArguments& options, Selection selection)
      : run_(run), options_(options), selection_(std::move(selection)) {
    const auto underscore = options.run.find('_');
    if (run.plan.array && !job_of_task(options.run).empty() && underscore != std::string::npos)
      only_task_ = options.run.substr(underscore + 1);
    for (const auto& component : run.plan.components) {
      const RunDir dir{.path = component_dir(run.dir.path, component.name)};
      RankOutputSettings settings{.several = run.plan.ranks() > 1,
                                  .component = component.name,
                                  .since_s = selection_.since_s};
      outputs_.emplace(component.name, RankOutput(dir.out(), std::move(settings)));
    }
    if (!run.plan.array && run.plan.components.empty()) add("", run.dir);
  }

  void print(System& system) {
    find_tasks();
    bool printed = false;
    do {
      behind_ = false;
      for (auto& [task, output] : outputs_) {
        printed = print_lines(task, output.poll(seconds_now()), system) || printed;
        behind_ = behind_ || output.behind();
      }
    } while (behind_);
    if (printed) std::fflush(stdout);
  }

  /// The last `most` of what is there, of each task; `over`: with unfinished lines.
  void print_last(std::size_t most, bool over, System& system) {
    find_tasks();
    for (auto& [task, output] : outputs_) {
      std::deque<std::string> last;
      do {
        for (auto& line : over ? output.finish() : output.present()) {
          silent_ = false;
          if (is_selected(line)) last.push_back(std::move(line));
          if (last.size() > most) last.pop_front();
        }
      } while (output.behind());
      print_lines(task, {last.begin(), last.end()}, system);
    }
    std::fflush(stdout);
  }

  void finish(System& system) {
    print(system);
    for (auto& [task, output] : outputs_) {
      do {
        print_lines(task, output.finish(), system);
      } while (output.behind());
    }
  }

  /// Whether there was no line so far, selected or not.
  bool silent() const { return silent_; }

 private:
  void add(const std::string& task, const RunDir& dir) {
    RankOutputSettings settings{.several = run_.plan.ranks() > 1,
                                .only_rank = options_.rank,
                                .since_s = selection_.since_s};
    SlurmJob job;
    job.id = run_.job_id;
    job.array_job = run_.job_id;
    job.array_task = task;
    if (!run_.job_id.empty()) settings.extra = {slurm_log(run_.plan, job)};
    outputs_.emplace(task, RankOutput(dir.out(), std::move(settings)));
  }

  void find_tasks() {
    if (!run_.plan.array) return;
    std::error_code error;
    for (fs::directory_iterator at(run_.dir.path, error), end; !error && at != end;
         at.increment(error)) {
      const auto task = task_of(at->path().filename().string());
      const bool wanted = !task.empty() && (only_task_.empty() || task == only_task_);
      if (wanted && !outputs_.contains(task)) add(task, task_dir(run_.dir, task));
    }
  }

  bool is_selected(const std::string& line) const {
    return !selection_.pattern || selection_.pattern->matches(line);
  }

  bool print_lines(const std::string& task, const std::vector<std::string>& lines, System& system) {
    const bool named = run_.plan.array && only_task_.empty();
    silent_ = silent_ && lines.empty();
    for (const auto& line : lines) {
      if (!is_selected(line)) continue;
      system.print(named ? fmt::format("task {}: {}\n", task, line) : line + "\n");
    }
    return !lines.empty();
  }

  const StoredRun& run_;
  const LogsArguments& options_;
  Selection selection_;
  std::string only_task_;
  bool behind_ = false;
  bool silent_ = true;
  std::map<std::string, RankOutput> outputs_;  // by task or component
};

/// Whether a run has ended. Slurm is asked less often the longer it lasts.
class Watch {
 public:
  Watch(System& system, const StoredRun& run) : system_(system), run_(run) {}

  bool over() {
    if (Clock::now() < next_look_) return false;
    const bool local = run_.plan.launcher == Launcher::local;
    next_look_ = Clock::now() + (local ? std::chrono::milliseconds(200) : pause_);
    pause_ = std::min(longest, pause_ + pause_ / 2);
    return local ? !owner_of(run_.dir) : left_the_queue();
  }

 private:
  static constexpr std::chrono::milliseconds longest{5000};

  bool left_the_queue() {
    const auto job = job_of_run(run_.plan, run_.dir, system_);
    if (!job && !silence_told_)
      system_.log(
          fmt::format("dllaunch: {}; the job continues; still following it\n", job.error().what));
    if (job && silence_told_) system_.log("dllaunch: Slurm answers again\n");
    silence_told_ = !job;
    return job && !*job;
  }

  System& system_;
  const StoredRun& run_;
  std::chrono::milliseconds pause_{1000};
  bool silence_told_ = false;
  Clock::time_point next_look_ = Clock::now();
};

int exit_code_of(const std::string& status) {
  return status == "completed" ? exit_code::success : exit_code::job_failed;
}

/// Writes the summary of an ended run that has no other follower.
Result<int> tell_end(const std::string& path, System& system) {
  auto stored = read_stored_run(system, path);
  // A follower writes the summary; its last poll may come after ours.
  const auto deadline = Clock::now() + std::chrono::seconds(15);
  while (stored && stored->summary.is_null() && owner_of(stored->dir) && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stored = read_stored_run(system, path);
  }
  if (!stored) return std::move(stored).error();
  auto final_state = finalize_run(system, *stored);
  if (!final_state) return std::move(final_state).error();
  // The owner may be stopped, or on a lost machine: Slurm knows the end anyway.
  if (!*final_state && stored->summary.is_null()) final_state = read_final_state(system, *stored);
  if (!final_state) return std::move(final_state).error();
  if (*final_state) {
    system.log(render_failure((*final_state)->outcome));
    return (*final_state)->outcome.exit_code;
  }
  if (stored->summary.is_null()) system.log("dllaunch: there is no record of how the run ended\n");
  return exit_code_of(stored_status(*stored));
}

/// Says what a run without output waits for or how it ended, with the end of a file that tells
/// more.
Result<int> explain_silence(const std::string& path, const LogsArguments& options, System& system) {
  auto run_state = observe_end(system, path);
  if (!run_state) return std::move(run_state).error();
  const auto& run = run_state->run;
  const auto waits = waiting_words(*run_state);
  system.log(fmt::format("dllaunch: {}; the run is {}{}\n",
                         options.rank ? fmt::format("rank {} has written nothing", *options.rank)
                                      : "no rank has written anything",
                         run_state->state, waits.empty() ? "" : ": " + waits));
  Outcome outcome{.reason = value_at<std::string>(run.summary, "reason"),
                  .first_error = value_at<std::string>(run.summary, "first_error"),
                  .advice = value_at<std::string>(run.summary, "advice")};
  SlurmJob job;
  job.id = run.job_id;
  for (const auto& file :
       {run.job_id.empty() ? "" : slurm_log(run.plan, job), run.dir.out() + "/mpirun.log",
        run.dir.out() + "/spawn.log", run.dir.path + "/dllaunch.log"}) {
    constexpr std::size_t most_bytes = 65536;
    constexpr std::size_t most_lines = 10;
    outcome.excerpt = log_excerpt(file_end(file, most_bytes), most_lines);
    outcome.log = file;
    if (!outcome.excerpt.empty()) break;
  }
  system.log(render_failure(outcome));
  return exit_code::success;
}

Result<int> show_logs(const LogsArguments& options, System& system) {
  auto path = find_run_to_read(system, options.run);
  if (!path) return std::move(path).error();
  auto stored = read_stored_run(system, *path);
  if (!stored) return std::move(stored).error();
  if (options.rank && *options.rank >= stored->plan.ranks())
    return Error{ErrorKind::bad_request,
                 fmt::format("the run has {}, numbered from 0: no rank {}",
                             counted(stored->plan.ranks(), "rank"), *options.rank),
                 ""};
  if (options.rank && !stored->plan.components.empty())
    return Error{
        ErrorKind::bad_request, "--rank: each component numbers its ranks from 0",
        fmt::format("dllaunch logs {} --rank {}",
                    shell_quote(component_dir(*path, stored->plan.components.front().name)),
                    *options.rank)};
  auto selection = selection_of(options);
  if (!selection) return std::move(selection).error();
  Output output(*stored, options, *std::move(selection));
  if (options.tail)
    output.print_last(static_cast<std::size_t>(*options.tail), !options.follow, system);
  if (!options.follow) {
    output.finish(system);
    // With --since, lines that are older are not looked at.
    if (output.silent() && options.since.empty()) return explain_silence(*path, options, system);
    return exit_code::success;
  }
  for (Watch watch(system, *stored); !watch.over();) {
    output.print(system);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  output.finish(system);
  std::fflush(stdout);
  return tell_end(*path, system);
}

CommandBody declare_logs(CommandOptions& app) {
  auto options = std::make_shared<LogsArguments>();
  app.add_option("RUN", options->run,
                 "a run directory, a run's or job's name, a job id [the newest run]");
  app.add_flag("-f,--follow", options->follow, "continue until the run ends");
  app.add_option("-n,--tail", options->tail, "only the last N lines; with -f also what follows")
      ->type_name("N")
      ->range(0, 1 << 30);
  app.add_option("--rank", options->rank, "only this rank, without a prefix")
      ->type_name("N")
      ->range(0, 1 << 24);
  app.add_option("--since", options->since,
                 "from then on: 10m, 2h, 1d, 08:30 or 2026-11-24T08:30; a line without a time "
                 "follows the one before it")
      ->type_name("TIME");
  app.add_option("--grep", options->grep, "only lines that match this regular expression")
      ->type_name("PATTERN");
  return [options](System& system) { return show_logs(*options, system); };
}

}  // namespace

extern const Command logs_command;
const Command logs_command{"logs", "the ranks' output, merged", logs_examples, declare_logs};

}  // namespace dllaunch

#include "launcher/study/run_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "launcher/base/format.hpp"
#include "launcher/drawing/ticks.hpp"
#include "launcher/job/load_job.hpp"
#include "launcher/launch/child_run.hpp"
#include "launcher/launch/held_allocation.hpp"
#include "launcher/launch/prepare_job.hpp"
#include "launcher/monitor/line_pattern.hpp"
#include "launcher/monitor/output_number.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/own_executable.hpp"
#include "launcher/os/owned_process.hpp"
#include "launcher/os/stop_signals.hpp"
#include "launcher/os/storage_patience.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/run/run_dir.hpp"
#include "launcher/slurm/slurm_time.hpp"
#include "launcher/study/measured_exchange.hpp"
#include "launcher/study/study_page.hpp"
#include "launcher/study/study_value.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

std::string run_name(int ranks, int repeat) {
  return fmt::format("ranks-{:05}-repeat-{:02}", ranks, repeat);
}

std::vector<std::string> sets_of(const StudyRequest& request, const StudySize& size) {
  auto sets = request.sets;
  sets.insert(sets.end(), size.sets.begin(), size.sets.end());
  return sets;
}

Result<Ok> check_value(const Job& job) {
  if (!job.train.is_null()) return Ok{};
  if (job.study.step) {
    auto pattern = LinePattern::compile(*job.study.step);
    if (!pattern) return std::move(pattern).error().within("study.step");
    return Ok{};
  }
  if (!job.study.value)
    return Error{ErrorKind::bad_request,
                 "the job file does not say what a study of its run: measures",
                 "study: {value: '([0-9.]+) samples/s', unit: samples/s}"};
  auto number = OutputNumber::compile(*job.study.value);
  if (!number) return std::move(number).error().within("study.value");
  return Ok{};
}

/// Values of an earlier execution, also of sizes that are not asked for now.
Result<Ok> take_earlier(System& system, const StudyRequest& request, Study& study) {
  constexpr std::size_t most_bytes = 16 << 20;
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorKind::bad_request, request.dir + " " + why, "choose another --run-dir"};
  };
  std::error_code ignored;
  if (std::filesystem::exists(request.dir + "/plan.json", ignored)) return refuse("is a run's");
  auto text = read_run_file(system, request.dir + "/study.json", most_bytes);
  if (!text) return std::move(text).error();
  if (text->empty()) return Ok{};
  const Json document = json_object_in(*text);
  if (document.is_null()) return refuse("holds a study.json that is damaged");
  const Study earlier = read_study(document);
  if (earlier.name != study.name || earlier.scaling != study.scaling ||
      earlier.local != study.local || earlier.job != study.job)
    return refuse("holds a study of another job file, of other scaling or of another place");
  for (const StudyRun& run : earlier.runs) {
    const bool moved = std::ranges::any_of(study.runs, [&run](const StudyRun& one) {
      return one.ranks == run.ranks && one.nodes != run.nodes;
    });
    if (moved)
      return refuse(fmt::format("holds {} on {}, which is not the layout of now",
                                counted(run.ranks, "rank"), counted(run.nodes, "node")));
    const auto same = std::ranges::find_if(study.runs, [&run](const StudyRun& one) {
      return one.ranks == run.ranks && one.nodes == run.nodes && one.repeat == run.repeat;
    });
    if (same != study.runs.end()) {
      *same = run;
    } else if (run.value) {
      study.runs.push_back(run);
    }
  }
  return Ok{};
}

/// The run's own messages go into the study's directory: a study shows one line a run.
Result<OwnedProcess> start(const StudyRequest& request, const StudySize& size,
                           const StudyRun& run) {
  return start_child_run({.job_file = request.job_file,
                          .sets = sets_of(request, size),
                          .dir = request.dir + "/" + run.run,
                          .local = request.local,
                          .allocated = request.allocated});
}

/// Waits for its end and returns its exit code. Stops it after `limit_s`: `overdue`. Passes signals
/// on: at the first a run stops or, for a lost terminal, leaves its Slurm job alone; at the second
/// it stops at once.
int wait_for(OwnedProcess& process, const StopSignals& signals, std::optional<double> limit_s,
             bool& overdue) {
  const auto began = std::chrono::steady_clock::now();
  int told = 0;
  for (;;) {
    if (const auto code = process.poll()) return *code;
    signals.wait(200ms);
    for (; told < signals.count(); ++told)
      process.send(signals.first() == SIGHUP ? SIGHUP : SIGINT);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    if (!limit_s || took.count() <= *limit_s || std::exchange(overdue, true)) continue;
    process.send(SIGTERM);
  }
}

/// Where Slurm ends no run of its own.
std::optional<double> longest_s(const StudyRequest& request, const Job& job) {
  const auto limit = request.allocated && job.resources.time
                         ? parse_slurm_seconds(*job.resources.time)
                         : std::nullopt;
  return limit ? std::optional(static_cast<double>(*limit)) : std::nullopt;
}

/// Measures what is the run's own job.
void take_value(System& system, const std::string& dir, const Job& job, const Json& own,
                StudyRun& run) {
  const auto other = keys_of_other_job(system, dir, {own});
  if (other && other->empty()) return measure(system, dir, job, run);
  run.reason =
      other ? fmt::format("its job was changed: {}", fmt::join(*other, ", ")) : other.error().what;
}

/// Whether a directory is that of another run that counts: linked to it, or copied.
bool is_anothers(const StudyRequest& request, const Study& study, const StudyRun& run) {
  const auto id_in = [&](const StudyRun& one) { return read_run_id(request.dir + "/" + one.run); };
  const auto id = id_in(run);
  return !id.empty() && std::ranges::any_of(study.runs, [&](const StudyRun& other) {
    return other.value && other.run != run.run && id_in(other) == id;
  });
}

/// A run that has ended without a value is not continued: what it resumed would not be measured
/// whole. Its successor has a directory of its own, and so has a run in whose place is another job
/// or another run's directory. A job that is still there is followed; one of which Slurm does not
/// tell is left alone, with a reason. Returns whether to start the run.
bool choose_directory(System& system, const StudyRequest& request, const PreparedStudy& prepared,
                      const Json& own, StudyRun& run) {
  const auto path = [&] { return request.dir + "/" + run.run; };
  const auto to_another = [&] {
    const std::string name = run_name(run.ranks, run.repeat);
    std::error_code ignored;
    for (int attempt = 2; std::filesystem::exists(path(), ignored); ++attempt)
      run.run = fmt::format("{}-attempt-{:02}", name, attempt);
    return true;
  };
  const auto other = keys_of_other_job(system, path(), {own});
  if (!other) {
    run.reason = other.error().what;
    return false;
  }
  if (!other->empty() || is_anothers(request, prepared.study, run)) return to_another();
  const auto fate = fate_of_run(system, path());
  if (fate == RunFate::absent) return true;
  if (fate == RunFate::there && request.allocated) {
    run.reason = "a job of its own is still there: follow it without --allocated, or cancel it";
    return false;
  }
  if (fate == RunFate::there) return true;
  if (fate == RunFate::unknown) {
    run.reason = "it cannot be told whether its job is still there";
    return false;
  }
  if (run.state.empty()) measure(system, path(), prepared.job, run);
  return !run.value && to_another();
}

std::string line_of(const Study& study, const StudyRun& run, double seconds) {
  const std::string what =
      run.value ? fmt::format("{} {}", short_number(*run.value, 5), study.unit) : run.reason;
  return fmt::format("{} on {}, repeat {}: {} ({})\n", counted(run.ranks, "rank"),
                     counted(run.nodes, "node"), run.repeat, what, clock_time(seconds));
}

/// Waits a while for a file system that is full or away. Returns its trouble; empty: it is usable.
std::string wait_for_storage(System& system, const std::string& dir, const StopSignals& signals) {
  std::string trouble;
  bool told = false;
  const auto usable = [&] {
    trouble = storage_trouble(dir);
    if (!trouble.empty() && !std::exchange(told, true)) system.log(trouble + ": waiting\n");
    return trouble.empty();
  };
  patiently(usable, [&](std::chrono::milliseconds pause) {
    signals.wait(pause);
    return signals.count() > 0;
  });
  return trouble;
}

/// Starts the run, and measures it when it has ended.
Result<Ok> execute(System& system, const StudyRequest& request, const PreparedStudy& prepared,
                   const StudySize& size, const Json& own, const StopSignals& signals,
                   StudyRun& run) {
  const auto dir = request.dir + "/" + run.run;
  const bool own_job = !request.local && !request.allocated;
  bool overdue = false;
  bool goes_on = false;
  // A dllaunch that ends before its job is replaced by another, which follows that job.
  for (bool first = true; (first || goes_on) && signals.count() == 0; first = false) {
    auto process = start(request, size, run);
    if (!process) return std::move(process).error();
    const int code = wait_for(*process, signals, longest_s(request, prepared.job), overdue);
    take_value(system, dir, prepared.job, own, run);
    if (code != 0 && run.state.empty()) run.reason = last_error_of_child(dir);
    if (run.reason.empty() && !run.value)
      run.reason = fmt::format("its dllaunch exited with code {} and could say nothing", code);
    goes_on = own_job && run.state.empty() && fate_of_run(system, dir) == RunFate::there;
    if (goes_on) signals.wait(5s);
  }
  if (goes_on) run.reason = "its job goes on";
  if (overdue && !run.value) run.reason = "it took longer than resources.time";
  return Ok{};
}

/// A run that a full disk ended, or whose directory was away then, is made again.
Result<Ok> carry_out(System& system, const StudyRequest& request, const PreparedStudy& prepared,
                     const StudySize& size, const Json& own, const StopSignals& signals,
                     StudyRun& run) {
  constexpr int most_tries = 3;
  for (int tries = 0; tries < most_tries && signals.count() == 0; ++tries) {
    run.reason = wait_for_storage(system, request.dir + "/" + run.run, signals);
    if (!run.reason.empty() || !choose_directory(system, request, prepared, own, run)) break;
    auto done = execute(system, request, prepared, size, own, signals, run);
    if (!done) return done;
    const bool sound = storage_trouble(request.dir + "/" + run.run).empty();
    if (run.value || (sound && !tells_of_storage(run.reason))) break;
  }
  return Ok{};
}

PlanOptions plan_options(const StudyRequest& request, std::vector<std::string> sets) {
  return {.job = request.job_file, .sets = std::move(sets), .facts = {}, .local = request.local};
}

/// The plan whose nodes the sizes fill. One machine without GPUs takes as many ranks as the largest
/// size has, where the job file does not say how many.
Result<LaunchPlan> layout_of(System& system, const StudyRequest& request, const Job& job,
                             const LaunchPlan& plan) {
  const auto& ranks = request.wanted.ranks;
  const int most = ranks.empty() ? 0 : std::ranges::max(ranks);
  const bool widens = plan.launcher == Launcher::local && plan.request.gpus == 0 &&
                      !job.resources.ranks_per_node && most > plan.ranks_per_node;
  if (!widens) return plan;
  auto sets = request.sets;
  sets.push_back(fmt::format("resources.ranks_per_node={}", most));
  return plan_job(system, plan_options(request, std::move(sets)));
}

/// Whether each size can be planned, and submitted if it is a job of its own.
Result<Ok> check_sizes(System& system, const StudyRequest& request,
                       const std::vector<StudySize>& sizes, bool queues) {
  for (const StudySize& size : sizes) {
    const auto options = plan_options(request, sets_of(request, size));
    auto planned = queues ? submittable_plan(system, options) : plan_job(system, options);
    if (planned) continue;
    auto problem = std::move(planned).error();
    // The study's own changes win over the user's, so no key of the job file helps.
    if (problem.hint.find("--set") != std::string::npos) problem.hint = "leave out this size";
    return std::move(problem).within(counted(size.ranks, "rank"));
  }
  return Ok{};
}

/// The time of all runs that have no value, in minutes; nullopt: the job file has no limit.
std::optional<std::int64_t> minutes_of_all(const PreparedStudy& prepared) {
  const auto& limit = prepared.job.resources.time;
  const auto minutes = limit ? parse_slurm_minutes(*limit) : std::nullopt;
  if (!minutes) return std::nullopt;
  const auto missing = std::ranges::count_if(
      prepared.study.runs, [](const StudyRun& run) { return !run.value.has_value(); });
  return held_minutes(*minutes * std::int64_t{missing}, prepared.job.recovery.grace_seconds);
}

/// The job that the runs share.
Result<LaunchPlan> shared_plan(System& system, const StudyRequest& request,
                               const PreparedStudy& prepared) {
  auto sets = sets_of(request, prepared.sizes.front());
  if (const auto minutes = minutes_of_all(prepared))
    sets.push_back(fmt::format("resources.time={}", *minutes));
  auto planned = submittable_plan(system, plan_options(request, std::move(sets)));
  if (planned) return planned;
  auto problem = std::move(planned).error();
  problem.hint = "--separate makes each size a job of its own";
  return std::move(problem).within("one job for all sizes");
}

Result<Ok> take_allreduce(System& system, const std::string& path, const Job& job,
                          const StudySize& largest, Study& study) {
  if (path.empty()) return Ok{};
  if (!study.trains)
    return Error{ErrorKind::bad_request,
                 "--allreduce needs train: in the job file; what a command exchanges is not known",
                 "leave it out"};
  const auto text = system.read_file(path);
  if (!text) return text.error();
  auto measured = read_allreduce(Json::parse(*text, nullptr, /*allow_exceptions=*/false));
  if (!measured) return std::move(measured).error().within("--allreduce " + path);
  study.allreduce = *std::move(measured);
  const auto wanted = value_at<std::string>(job.runtime, "allreduce");
  if (largest.ranks > 1 && !wanted.empty() && wanted != "auto") {
    if (auto good = check_same_communicator(study.allreduce->model, wanted); !good) return good;
  }
  return check_measured(study.allreduce->model, largest.ranks, largest.nodes);
}

Study study_of(const StudyRequest& request, const Job& job) {
  const bool trains = !job.train.is_null();
  return {.name = job.name,
          .scaling = request.wanted.scaling,
          .trains = trains,
          .unit = trains                                     ? "images/s"
                  : job.study.step && job.study.unit.empty() ? "steps/s"
                                                             : job.study.unit,
          .lower_is_better = !trains && job.study.lower_is_better,
          .efficiency = request.efficiency,
          .local = request.local,
          .job = digest_of_job(job.resolved)};
}

/// The same study, as the job's script starts it.
Result<std::vector<std::string>> command_of(const StudyRequest& request) {
  auto program = own_executable();
  if (!program) return std::move(program).error();
  std::vector<std::string> argv = {*std::move(program), "study",     request.job_file,
                                   "--run-dir",         request.dir, "--allocated"};
  for (const auto& set : request.sets) argv.insert(argv.end(), {"--set", set});
  const bool by_nodes = request.wanted.ranks.empty();
  const auto& sizes = by_nodes ? request.wanted.nodes : request.wanted.ranks;
  argv.insert(
      argv.end(),
      {by_nodes ? "--nodes" : "--ranks", fmt::format("{}", fmt::join(sizes, ",")), "--repeats",
       std::to_string(request.repeats), "--efficiency", fmt::format("{}", request.efficiency)});
  if (request.wanted.scaling == Scaling::weak) argv.emplace_back("--weak");
  if (!request.allreduce.empty()) argv.insert(argv.end(), {"--allreduce", request.allreduce});
  return argv;
}

}  // namespace

Result<PreparedStudy> prepare_study(System& system, const StudyRequest& request) {
  auto job = load_job(system, request.job_file, request.sets);
  if (!job) return std::move(job).error();
  if (auto good = check_value(*job); !good) return std::move(good).error();
  if (job->array)
    return Error{ErrorKind::bad_request, "a job array has no scaling study", "remove array:"};
  PreparedStudy prepared;
  prepared.job = *std::move(job);
  const auto plan = plan_job(system, plan_options(request, request.sets));
  if (!plan) return plan.error();
  prepared.cores_of_node = plan->occupies.cores;
  const auto layout = layout_of(system, request, prepared.job, *plan);
  if (!layout) return layout.error();
  auto wanted = request.wanted;
  wanted.ranks_as_written = plan->ranks();
  auto sizes = sizes_of(wanted, prepared.job, *layout);
  if (!sizes) return std::move(sizes).error();
  const bool shares = plan->launcher == Launcher::slurm && !request.separate && !request.allocated;
  if (auto good = check_sizes(system, request, *sizes, !shares && !request.allocated); !good)
    return std::move(good).error();
  prepared.sizes = *std::move(sizes);
  prepared.study = study_of(request, prepared.job);
  if (auto good = take_allreduce(system, request.allreduce, prepared.job, prepared.sizes.front(),
                                 prepared.study);
      !good)
    return std::move(good).error();
  for (int repeat = 1; repeat <= request.repeats; ++repeat) {
    for (const StudySize& size : prepared.sizes)
      prepared.study.runs.push_back({.ranks = size.ranks,
                                     .nodes = size.nodes,
                                     .repeat = repeat,
                                     .run = run_name(size.ranks, repeat)});
  }
  if (auto good = take_earlier(system, request, prepared.study); !good)
    return std::move(good).error();
  const bool any = std::ranges::any_of(prepared.study.runs,
                                       [](const StudyRun& run) { return !run.value.has_value(); });
  if (shares && any) {
    auto shared = shared_plan(system, request, prepared);
    if (!shared) return std::move(shared).error();
    prepared.shared = *std::move(shared);
  }
  return prepared;
}

Result<int> run_study(System& system, const StudyRequest& request, PreparedStudy& prepared) {
  Study& study = prepared.study;
  if (const int failed = make_private_folder(request.dir); failed != 0)
    return Error{ErrorKind::bad_request,
                 fmt::format("cannot make {}: {}", request.dir, std::strerror(failed)), ""};
  const auto lock = RunLock::take({.path = request.dir});
  if (!lock) return lock.error();
  // Another study may have worked here since this one was prepared.
  if (auto good = take_earlier(system, request, study); !good) return std::move(good).error();
  const StopSignals signals;
  const auto keep = [&] {
    return despite_storage([&] { return write_study(request.dir, study, result_of(study)); },
                           [&](const std::string& words) { system.log(words + "\n"); },
                           [&](std::chrono::milliseconds pause) {
                             signals.wait(pause);
                             return signals.count() > 0;
                           });
  };
  for (StudyRun& run : study.runs) {
    if (run.value) continue;
    const auto size = std::ranges::find_if(
        prepared.sizes, [&run](const StudySize& one) { return one.ranks == run.ranks; });
    if (size == prepared.sizes.end()) continue;
    if (auto written = keep(); !written) return std::move(written).error();
    if (signals.count() > 0) return signals.first();
    const auto began = std::chrono::steady_clock::now();
    if (auto same = check_unchanged(system, request.job_file, request.sets, study.job); !same)
      return std::move(same).error();
    const auto own = load_job(system, request.job_file, sets_of(request, *size));
    if (!own) return own.error();
    if (auto done = carry_out(system, request, prepared, *size, own->resolved, signals, run); !done)
      return std::move(done).error();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    system.log(line_of(study, run, took.count()));
  }
  if (auto written = keep(); !written) return std::move(written).error();
  return signals.first();
}

Result<int> run_study_in_one_job(System& system, const StudyRequest& request,
                                 PreparedStudy& prepared) {
  auto command = command_of(request);
  if (!command) return std::move(command).error();
  const auto stopped = execute_held(system, {.plan = *std::move(prepared.shared),
                                             .name = prepared.study.name + "-study",
                                             .dir = request.dir + "/allocation",
                                             .command = *std::move(command)});
  prepared.shared.reset();
  if (!stopped) return stopped.error();
  if (auto taken = take_earlier(system, request, prepared.study); !taken)
    return std::move(taken).error();
  return *stopped;
}

Result<Ok> write_study(const std::string& dir, const Study& study, const StudyResult& result) {
  return write_files({{dir + "/study.json", json_text(to_json(study, result))},
                      {dir + "/study.csv", study_csv(study, result)},
                      {dir + "/study.html", html_page(study_page(study, result, dir))},
                      {dir + "/throughput.svg", svg_file(draw(value_chart(study, result)))},
                      {dir + "/efficiency.svg", svg_file(draw(efficiency_chart(study, result)))}});
}

}  // namespace dllaunch

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
#include "launcher/job/load_job.hpp"
#include "launcher/launch/prepare_job.hpp"
#include "launcher/monitor/line_pattern.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/own_executable.hpp"
#include "launcher/os/owned_process.hpp"
#include "launcher/os/stop_signals.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/study/study_page.hpp"
#include "launcher/study/study_value.hpp"
#include "support/counted.hpp"

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
  if (!job.study.value)
    return Error{ErrorKind::bad_request,
                 "the job file does not say what a study of its run: measures",
                 "study: {value: '([0-9.]+) samples/s', unit: samples/s}"};
  auto pattern = LinePattern::compile(*job.study.value);
  if (!pattern) return std::move(pattern).error().within("study.value");
  return Ok{};
}

/// Values of an earlier execution.
Result<Ok> take_earlier(System& system, const StudyRequest& request, Study& study) {
  constexpr std::size_t most_bytes = 16 << 20;
  auto text = read_run_file(system, request.dir + "/study.json", most_bytes);
  if (!text) return std::move(text).error();
  if (text->empty()) return Ok{};
  const Study earlier = read_study(json_object_in(*text));
  if (earlier.name != study.name || earlier.scaling != study.scaling)
    return Error{ErrorKind::bad_request,
                 fmt::format("{} holds a study of {}{}", request.dir, earlier.name,
                             earlier.scaling == Scaling::weak ? ", of weak scaling" : ""),
                 "choose another --run-dir"};
  for (StudyRun& run : study.runs) {
    const auto same = std::ranges::find_if(earlier.runs, [&run](const StudyRun& one) {
      return one.ranks == run.ranks && one.nodes == run.nodes && one.repeat == run.repeat;
    });
    if (same != earlier.runs.end() && same->value) run = *same;
  }
  return Ok{};
}

/// The run's own messages go into the study's directory: a study shows one line a run.
Result<OwnedProcess> start(const StudyRequest& request, const StudySize& size,
                           const StudyRun& run) {
  auto program = own_executable();
  if (!program) return std::move(program).error();
  const std::string dir = request.dir + "/" + run.run;
  std::vector<std::string> argv = {"dllaunch", "run", request.job_file, "--run-dir", dir};
  for (const auto& set : sets_of(request, size)) argv.insert(argv.end(), {"--set", set});
  if (request.local) argv.emplace_back("--local");
  return OwnedProcess::start({.program = *program,
                              .argv = std::move(argv),
                              .environment = {},
                              .output_path = dir + ".log"});
}

/// Waits for its end; after a signal, asks it to stop first. 0: not interrupted.
int wait_for(OwnedProcess& process, const StopSignals& signals) {
  int told = 0;
  while (!process.poll()) {
    signals.wait(200ms);
    // Each further signal is passed on: the second makes a run stop at once.
    for (; told < signals.count(); ++told) process.send(SIGINT);
  }
  return signals.first();
}

std::string line_of(const Study& study, const StudyRun& run, double seconds) {
  const std::string what =
      run.value ? fmt::format("{:.5g} {}", *run.value, study.unit) : run.reason;
  return fmt::format("{} on {}, repeat {}: {} ({})\n", counted(run.ranks, "rank"),
                     counted(run.nodes, "node"), run.repeat, what, clock_time(seconds));
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
  PlanOptions options{.job = request.job_file, .sets = request.sets, .local = request.local};
  const auto plan = plan_job(system, options);
  if (!plan) return plan.error();
  auto sizes = sizes_of(request.wanted, prepared.job, *plan);
  if (!sizes) return std::move(sizes).error();
  for (const StudySize& size : *sizes) {
    options.sets = sets_of(request, size);
    const auto planned = check_job(system, options);
    const std::string place = counted(size.ranks, "rank");
    if (!planned) return Error(planned.error()).within(place);
    if (!planned->plan) return Error(planned->plan.error()).within(place);
    if (!planned->report.passed()) return as_error(planned->report).within(place);
  }
  prepared.sizes = *std::move(sizes);
  const bool trains = !prepared.job.train.is_null();
  prepared.study = {.name = prepared.job.name,
                    .scaling = request.wanted.scaling,
                    .trains = trains,
                    .unit = trains ? "images/s" : prepared.job.study.unit,
                    .lower_is_better = !trains && prepared.job.study.lower_is_better,
                    .efficiency = request.efficiency};
  for (int repeat = 1; repeat <= request.repeats; ++repeat) {
    for (const StudySize& size : prepared.sizes)
      prepared.study.runs.push_back({.ranks = size.ranks,
                                     .nodes = size.nodes,
                                     .repeat = repeat,
                                     .run = run_name(size.ranks, repeat)});
  }
  if (auto good = take_earlier(system, request, prepared.study); !good)
    return std::move(good).error();
  return prepared;
}

Result<int> run_study(System& system, const StudyRequest& request, PreparedStudy& prepared) {
  Study& study = prepared.study;
  if (const int failed = make_private_folder(request.dir); failed != 0)
    return Error{ErrorKind::bad_request,
                 fmt::format("cannot make {}: {}", request.dir, std::strerror(failed)), ""};
  const StopSignals signals;
  for (StudyRun& run : study.runs) {
    if (run.value) continue;
    const auto size = std::ranges::find_if(
        prepared.sizes, [&run](const StudySize& one) { return one.ranks == run.ranks; });
    const auto began = std::chrono::steady_clock::now();
    auto process = start(request, *size, run);
    if (!process) return std::move(process).error();
    const int stopped = wait_for(*process, signals);
    measure(system, request.dir + "/" + run.run, prepared.job, run);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    system.log(line_of(study, run, took.count()));
    if (auto written = write_study(request.dir, study, result_of(study)); !written)
      return std::move(written).error();
    if (stopped != 0) return stopped;
  }
  return 0;
}

Result<Ok> write_study(const std::string& dir, const Study& study, const StudyResult& result) {
  const auto json =
      to_json(study, result).dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  const std::pair<const char*, std::string> files[] = {
      {"study.json", json + "\n"},
      {"study.csv", study_csv(study, result)},
      {"study.html", html_page(study_page(study, result, dir))},
      {"throughput.svg", svg_file(draw(value_chart(study, result)))},
      {"efficiency.svg", svg_file(draw(efficiency_chart(study, result)))}};
  for (const auto& [name, text] : files) {
    auto written = write_file(fmt::format("{}/{}", dir, name), text);
    if (!written) return written;
  }
  return Ok{};
}

}  // namespace dllaunch

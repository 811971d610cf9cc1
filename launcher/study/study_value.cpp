#include "launcher/study/study_value.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "launcher/base/moment.hpp"
#include "launcher/monitor/line_pattern.hpp"
#include "launcher/monitor/output_number.hpp"
#include "launcher/report/rank_times.hpp"
#include "launcher/report/run_series.hpp"
#include "launcher/run/rank_logs.hpp"
#include "launcher/run/stored_run.hpp"
#include "support/json_fields.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

/// Without a state, it is measured again.
void not_read(const Error& why, StudyRun& run) {
  run.state.clear();
  run.reason = why.what;
}

/// Sets the last number in rank 0's output.
void read_value(const RunDir& dir, const OutputNumber& number, StudyRun& run) {
  std::string match;
  bool matched = false;
  const auto read = for_each_line_of_rank(dir, 0, {}, [&](const std::string& line) {
    if (auto part = number.in(line)) {
      match = *std::move(part);
      matched = true;
    }
  });
  if (!read) return not_read(read.error(), run);
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

/// Sets steps per second, from lines that begin with a time and name a step. The first tenth of the
/// steps is warm-up.
void read_steps(const RunDir& dir, const LinePattern& pattern, StudyRun& run) {
  struct Step {
    double number = 0;
    double time_s = 0;
  };
  std::vector<Step> all;
  const auto read = for_each_line_of_rank(dir, 0, {}, [&](const std::string& line) {
    const auto part = pattern.part_of(line);
    const auto number = part ? parse_number<double>(*part) : std::nullopt;
    const auto time_s = number ? leading_moment(line) : std::nullopt;
    if (time_s) all.push_back({*number, *time_s});
  });
  if (!read) return not_read(read.error(), run);
  // A rank that left a node and came back continued a log.
  std::ranges::stable_sort(all, {}, &Step::time_s);
  std::vector<Step> steps;
  for (const Step& step : all) {
    // What a restart repeats counts once.
    while (!steps.empty() && steps.back().number >= step.number) steps.pop_back();
    steps.push_back(step);
  }
  const auto first = steps.begin() + static_cast<std::ptrdiff_t>((steps.size() + 9) / 10);
  if (steps.end() - first < 2 || steps.back().time_s <= first->time_s) {
    run.reason = "fewer than three lines of rank 0's output begin with a time and match study.step";
    return;
  }
  run.value = (steps.back().number - first->number) / (steps.back().time_s - first->time_s);
}

/// What the built-in trainer recorded.
void read_training(const RunDir& dir, const Json& summary, StudyRun& run) {
  const auto images_per_s = value_at<std::optional<double>>(summary, "images_per_s");
  if (images_per_s && *images_per_s > 0) {
    run.value = *images_per_s;
  } else {
    run.reason = "the run has no throughput: it trained no epoch";
  }
  constexpr std::int64_t fp32_bytes = 4;
  const RunSeries series = read_series(dir.events());
  if (series.start) {
    run.global_batch = series.start->global_batch;
    run.communicator = series.start->communicator;
    if (series.start->parameters)
      run.gradient_bytes =
          fp32_bytes * (*series.start->parameters - series.start->frozen.value_or(0));
  }
  std::vector<double> epochs;
  for (const EpochEvent& epoch : series.epochs)
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
  run.global_batch = run.gradient_bytes = std::nullopt;
  run.communicator.clear();
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
  if (job.study.step) {
    const auto pattern = LinePattern::compile(*job.study.step);
    if (pattern) return read_steps(stored->dir, *pattern, run);
    run.reason = pattern.error().what;
    return;
  }
  const auto number = OutputNumber::compile(job.study.value.value_or(""));
  if (number) return read_value(stored->dir, *number, run);
  run.reason = number.error().what;
}

}  // namespace dllaunch

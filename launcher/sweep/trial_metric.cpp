#include "launcher/sweep/trial_metric.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "launcher/base/nearest_name.hpp"
#include "launcher/monitor/output_number.hpp"
#include "launcher/os/line_tail.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/run/rank_logs.hpp"
#include "support/json_fields.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

/// Fields of an `epoch` event that are numbers to compare.
constexpr std::array<std::string_view, 14> trainer_metrics = {"val_accuracy",
                                                              "val_loss",
                                                              "accuracy",
                                                              "loss",
                                                              "images_per_s",
                                                              "val_top5_accuracy",
                                                              "val_f1_macro",
                                                              "val_f1_micro",
                                                              "val_mean_absolute_error",
                                                              "val_mean_squared_error",
                                                              "perplexity",
                                                              "val_perplexity",
                                                              "tokens_per_s",
                                                              "seconds"};

using Values = std::map<std::int64_t, double>;

Result<Values> of_trainer(const RunDir& dir, const std::string& metric) {
  Values values;
  const int why = for_each_line(dir.events(), [&](const std::string& line) {
    if (line.find("\"epoch\"") == std::string::npos) return;
    const Json event = json_object_in(line);
    if (event.is_null() || value_at<std::string>(event, "event") != "epoch") return;
    const auto epoch = value_at<std::int64_t>(event, "epoch");
    // What a restart trained again counts once, as it was the last time.
    values.erase(values.lower_bound(epoch), values.end());
    const auto value = value_at<std::optional<double>>(event, metric);
    if (epoch > 0 && value && std::isfinite(*value)) values[epoch] = *value;
  });
  if (why == 0) return values;
  return Error{ErrorKind::unavailable,
               fmt::format("cannot read {}: {}", dir.events(), std::strerror(why)), ""};
}

Result<Values> of_command(const RunDir& dir, const OutputNumber& number, const Trial& trial) {
  std::string last;
  const auto read = for_each_line_of_rank(dir, 0, trial.log_from, [&](const std::string& line) {
    if (auto part = number.in(line)) last = *std::move(part);
  });
  if (!read) return read.error();
  const auto value = parse_number<double>(last);
  if (!value || !std::isfinite(*value)) return Values();
  return Values{{std::max<std::int64_t>(trial.target, 1), *value}};
}

}  // namespace

Result<Ok> check_metric(const Job& job) {
  if (job.train.is_null()) {
    if (!job.sweep.value)
      return Error{ErrorKind::bad_request,
                   "the job file does not say what a sweep of its run: compares",
                   "sweep: {value: 'val_acc=([0-9.]+)'}"};
    auto number = OutputNumber::compile(*job.sweep.value);
    if (!number) return std::move(number).error().within("sweep.value");
    return Ok{};
  }
  if (std::ranges::find(trainer_metrics, job.sweep.metric) != trainer_metrics.end()) return Ok{};
  const std::vector<std::string> names(trainer_metrics.begin(), trainer_metrics.end());
  const auto near = nearest_name(job.sweep.metric, names);
  return Error{ErrorKind::bad_request,
               fmt::format("sweep.metric: the trainer has no {}{}", job.sweep.metric,
                           near ? fmt::format("; did you mean {}?", *near) : ""),
               fmt::format("one of {}", fmt::join(names, ", "))};
}

Result<Values> read_metric(const RunDir& dir, const Job& job, const Trial& trial) {
  if (!job.train.is_null()) return of_trainer(dir, job.sweep.metric);
  const auto number = OutputNumber::compile(job.sweep.value.value_or(""));
  return number ? of_command(dir, *number, trial) : Values();
}

}  // namespace dllaunch

#include "launcher/failures/assumptions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "launcher/base/shown_line.hpp"
#include "launcher/base/time_span.hpp"
#include "launcher/slurm/slurm_time.hpp"
#include "support/json.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

struct Key {
  std::string_view name;
  bool may_be_zero;
  void (*set)(Assumptions& assumed, double seconds);
};

constexpr std::array<Key, 7> keys = {
    {{"work", false, [](Assumptions& assumed, double s) { assumed.work_s = s; }},
     {"interval", false, [](Assumptions& assumed, double s) { assumed.interval_s = s; }},
     {"save", true, [](Assumptions& assumed, double s) { assumed.costs.save_s = s; }},
     {"detect", true, [](Assumptions& assumed, double s) { assumed.costs.detect_s = s; }},
     {"node_down", true, [](Assumptions& assumed, double s) { assumed.costs.node_down_s = s; }},
     {"restart", true, [](Assumptions& assumed, double s) { assumed.costs.restart_s = s; }},
     {"queue", true, [](Assumptions& assumed, double s) { assumed.costs.queue_s = s; }}}};

/// checkpoint.every_minutes in seconds; 0: auto, not given, or not known.
double interval_in(const std::string& train_json) {
  const auto train = Json::parse(train_json, nullptr, /*allow_exceptions=*/false);
  const auto checkpoint = value_at<Json>(train, "checkpoint");
  return 60 * std::max(0.0, value_at<double>(checkpoint, "every_minutes"));
}

}  // namespace

std::string assumption_keys() {
  std::string text;
  for (const auto& key : keys) text += fmt::format("{}{}", text.empty() ? "" : "|", key.name);
  return text;
}

Result<Assumptions> parse_assumptions(const std::vector<std::string>& words,
                                      const FailureCosts& costs) {
  Assumptions assumed{.costs = costs};
  for (const auto& word : words) {
    const auto equals = word.find('=');
    const auto name = std::string_view(word).substr(0, equals);
    const auto key = std::ranges::find(keys, name, &Key::name);
    if (equals == std::string::npos || key == keys.end())
      return Error{ErrorKind::bad_request, "--assume does not know " + shown_line(word),
                   "write KEY=TIME, with one of " + assumption_keys()};
    const auto seconds = seconds_in(std::string_view(word).substr(equals + 1));
    if (!seconds || (*seconds <= 0 && !key->may_be_zero))
      return Error{ErrorKind::bad_request, "--assume " + shown_line(word) + " is not a time",
                   fmt::format("write it as 90s, 20m, 1.5h or 14d: {}=1h", name)};
    key->set(assumed, *seconds);
  }
  return assumed;
}

std::optional<double> time_limit_s(const RunOutline& plan) {
  const auto option =
      std::ranges::find(plan.sbatch, "--time", &std::pair<std::string, std::string>::first);
  if (option == plan.sbatch.end()) return std::nullopt;
  const auto seconds = parse_slurm_seconds(option->second);
  if (!seconds || *seconds <= 0) return std::nullopt;
  return static_cast<double>(*seconds);
}

RecoveryRules rules_of(const RunOutline& plan, bool trains, const std::string& train_json,
                       const Assumptions& assumed) {
  const auto& recovery = plan.recovery;
  return {.nodes = std::max(1, plan.nodes),
          .spare_nodes = recovery.spare_nodes,
          .min_nodes = recovery.min_nodes,
          .max_restarts = recovery.max_restarts,
          .requeue_node_fail = recovery.requeue_on.node_fail,
          .requeue_timeout = recovery.requeue_on.timeout,
          .trains = trains,
          .limit_s = time_limit_s(plan).value_or(0),
          .grace_s = plan.asks_ranks ? static_cast<double>(plan.grace_seconds) : 0,
          .interval_s = assumed.interval_s.value_or(interval_in(train_json))};
}

}  // namespace dllaunch

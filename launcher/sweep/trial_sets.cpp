#include "launcher/sweep/trial_sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "launcher/base/shell_quote.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

constexpr std::array<std::string_view, 6> blocks = {"train.",   "resources.",   "runtime.",
                                                    "binding.", "environment.", "recovery."};

std::string text_of_value(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Values by the name of their placeholder, and which of them were found.
struct Fillings {
  std::map<std::string, std::string> values = {};
  std::set<std::string> found = {};
};

/// Replaces {name} in one pass: a value that looks like a placeholder stays. Whether any was there.
bool fill(std::string& text, Fillings& fillings, bool for_bash) {
  std::string filled;
  bool any = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text[at] == '{' ? text.find('}', at) : std::string::npos;
    const auto value = end == std::string::npos
                           ? fillings.values.end()
                           : fillings.values.find(text.substr(at + 1, end - at - 1));
    if (value == fillings.values.end()) {
      filled += text[at++];
      continue;
    }
    filled += for_bash ? shell_quote(value->second) : value->second;
    fillings.found.insert(value->first);
    any = true;
    at = end + 1;
  }
  text = std::move(filled);
  return any;
}

/// The job's command and variables, with values in place of their placeholders. {epochs} changes
/// from one execution of a trial to the next, which a run allows its variables alone.
std::vector<std::string> sets_of_command(const Job& job, Fillings& fillings, std::int64_t target) {
  std::vector<std::string> sets;
  auto argv = job.run_command;
  const auto script = shell_text_at(argv);
  bool changed = false;
  for (std::size_t i = 0; i < argv.size(); ++i)
    changed = fill(argv[i], fillings, i == script) || changed;
  if (changed) sets.push_back("run=" + Json(argv).dump());
  if (target > 0) fillings.values["epochs"] = std::to_string(target);
  for (auto [variable, text] : job.environment.variables)
    if (fill(text, fillings, false))
      sets.push_back(fmt::format("environment.variables.{}={}", variable, Json(text).dump()));
  return sets;
}

/// Keeps a decay until the end of the training as long as in a whole training: polynomial and
/// cosine have no other end than the last epoch.
void keep_schedule(const Job& job, const Json& parameters, std::int64_t all_epochs,
                   std::vector<std::string>& sets) {
  Json schedule = value_at<Json>(job.train, "lr_schedule");
  for (const char* key : {"decay", "decay_epochs", "warmup_epochs"}) {
    const auto swept = parameters.find(std::string("train.lr_schedule.") + key);
    if (swept != parameters.end()) schedule[key] = *swept;
  }
  const auto decay = value_at<std::string>(schedule, "decay");
  if ((decay != "polynomial" && decay != "cosine") ||
      value_at<std::optional<double>>(schedule, "decay_epochs"))
    return;
  sets.push_back(
      fmt::format("train.lr_schedule.decay_epochs={}",
                  static_cast<double>(all_epochs) - value_at<double>(schedule, "warmup_epochs")));
}

}  // namespace

bool is_job_key(const std::string& parameter) {
  return std::ranges::any_of(
      blocks, [&parameter](std::string_view block) { return parameter.starts_with(block); });
}

Result<std::vector<std::string>> sets_of_trial(const Job& job, const Json& parameters,
                                               std::int64_t target, std::int64_t all_epochs) {
  std::vector<std::string> sets;
  Fillings fillings;
  for (const auto& [name, value] : parameters.items()) {
    if (is_job_key(name)) {
      sets.push_back(fmt::format("{}={}", name, value.dump()));
    } else {
      fillings.values[name] = text_of_value(value);
    }
  }
  const auto names = fillings.values;
  const auto filled = sets_of_command(job, fillings, job.train.is_null() ? target : 0);
  sets.insert(sets.end(), filled.begin(), filled.end());
  for (const auto& [name, value] : names) {
    if (fillings.found.contains(name)) continue;
    return Error{
        ErrorKind::bad_request,
        fmt::format("sweep.parameters.{} is neither a key of the job file nor {{{}}} in run: or in "
                    "a variable",
                    name, name),
        job.train.is_null() ? fmt::format("write {{{}}} where its value belongs", name)
                            : "such as train.optimizer.lr"};
  }
  if (target > 0 && !job.train.is_null()) {
    sets.push_back(fmt::format("train.epochs={}", target));
    keep_schedule(job, parameters, all_epochs, sets);
  } else if (target > 0 && !fillings.found.contains("epochs")) {
    return Error{
        ErrorKind::bad_request, "scheduler: asha stops trials early, and no variable has {epochs}",
        "environment: {variables: {EPOCHS: '{epochs}'}}, for a program that continues from "
        "its own checkpoint"};
  }
  return sets;
}

}  // namespace dllaunch

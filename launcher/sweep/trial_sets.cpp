#include "launcher/sweep/trial_sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
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

/// Replaces {name} in a text and tells whether it was there.
bool replace_all(std::string& text, const std::string& name, const std::string& by) {
  const std::string placeholder = "{" + name + "}";
  bool found = false;
  for (auto at = text.find(placeholder); at != std::string::npos;
       at = text.find(placeholder, at + by.size())) {
    text.replace(at, placeholder.size(), by);
    found = true;
  }
  return found;
}

/// A job whose command and variables have values in place of their placeholders.
class FilledCommand {
 public:
  explicit FilledCommand(const Job& job)
      : argv_(job.run_command), variables_(job.environment.variables) {
    bash_ = argv_.size() == 3 && argv_[0] == "bash" && argv_[1] == "-c";
  }

  bool fill(const std::string& name, const std::string& value) {
    bool found = false;
    for (std::size_t i = 0; i < argv_.size(); ++i) {
      const bool script = bash_ && i == 2;
      const bool here = replace_all(argv_[i], name, script ? shell_quote(value) : value);
      command_changed_ = command_changed_ || here;
      found = found || here;
    }
    for (auto& [variable, text] : variables_) {
      if (!replace_all(text, name, value)) continue;
      changed_.push_back(variable);
      found = true;
    }
    return found;
  }

  std::vector<std::string> sets() const {
    std::vector<std::string> sets;
    if (command_changed_) sets.push_back("run=" + Json(argv_).dump());
    for (const auto& [variable, text] : variables_)
      if (std::ranges::find(changed_, variable) != changed_.end())
        sets.push_back(fmt::format("environment.variables.{}={}", variable, Json(text).dump()));
    return sets;
  }

 private:
  std::vector<std::string> argv_;
  std::vector<std::pair<std::string, std::string>> variables_;
  bool bash_ = false;
  bool command_changed_ = false;
  std::vector<std::string> changed_;  // variables
};

/// Keeps a decay until the end of the training as long as in a whole training: polynomial and
/// cosine have no other end than the last epoch.
void keep_schedule(const Job& job, std::int64_t all_epochs, std::vector<std::string>& sets) {
  const auto found = job.train.find("lr_schedule");
  if (found == job.train.end()) return;
  const Json& schedule = *found;
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
  FilledCommand command(job);
  for (const auto& [name, value] : parameters.items()) {
    if (is_job_key(name)) {
      sets.push_back(fmt::format("{}={}", name, value.dump()));
    } else if (!command.fill(name, text_of_value(value))) {
      return Error{
          ErrorKind::bad_request,
          fmt::format("sweep.parameters.{} is neither a key of the job file nor {{{}}} in run: or "
                      "in a variable",
                      name, name),
          job.train.is_null() ? fmt::format("write {{{}}} where its value belongs", name)
                              : "such as train.optimizer.lr"};
    }
  }
  if (target > 0 && !job.train.is_null()) {
    sets.push_back(fmt::format("train.epochs={}", target));
    keep_schedule(job, all_epochs, sets);
  } else if (target > 0 && !command.fill("epochs", std::to_string(target))) {
    return Error{ErrorKind::bad_request,
                 "scheduler: asha stops trials early, and run: has no {epochs}",
                 "pass {epochs} to the program, which must continue from its own checkpoint"};
  }
  const auto filled = command.sets();
  sets.insert(sets.end(), filled.begin(), filled.end());
  return sets;
}

}  // namespace dllaunch

#include "trainer/config/loss_choice.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trainer/losses/loss.hpp"

namespace dllaunch {
namespace {

std::string_view words_for(TargetKind targets) {
  switch (targets) {
    case TargetKind::class_index:
      return "one class per image";
    case TargetKind::class_set:
      return "a set of classes per image";
    case TargetKind::values:
      return "real numbers";
  }
  return "";
}

bool fits(const LossEntry& loss, TargetKind targets) {
  return std::ranges::find(loss.targets, targets) != loss.targets.end();
}

Error does_not_fit(const LossEntry& loss, TargetKind targets) {
  std::vector<std::string_view> fitting;
  for (const LossEntry& entry : losses()) {
    if (fits(entry, targets)) fitting.push_back(entry.name);
  }
  return {ErrorKind::bad_request,
          fmt::format("loss {} does not fit a data set with {}", loss.name, words_for(targets)),
          fmt::format("use loss: {}", fmt::join(fitting, " or "))};
}

}  // namespace

Result<LossChoice> choose_loss(const TrainConfig& config, std::string_view models_own,
                               TargetKind targets) {
  LossChoice choice{.name = config.loss, .label_smoothing = config.label_smoothing};
  if (choice.name == "auto") {
    if (models_own.empty() && targets == TargetKind::values) {
      return Error{ErrorKind::bad_request, "the labels are real numbers",
                   "set loss: mean_squared_error, or save classes .astype('int64')"};
    }
    const bool sets = targets == TargetKind::class_set;
    choice.name = sets ? "sigmoid_cross_entropy" : "softmax_cross_entropy";
    if (!models_own.empty()) choice.name = models_own;
  }
  const LossEntry* loss = find_loss(choice.name);
  if (loss == nullptr) return Error{ErrorKind::bad_request, "no loss " + choice.name, ""};
  if (!fits(*loss, targets)) return does_not_fit(*loss, targets);
  if (choice.label_smoothing > 0 && !loss->smooths) {
    return Error{ErrorKind::bad_request, fmt::format("loss {} has no label_smoothing", loss->name),
                 "remove label_smoothing"};
  }
  return choice;
}

TargetKind judged_as(const LossChoice& loss, TargetKind targets) {
  const bool asks_each_class = loss.name == "sigmoid_cross_entropy";
  return targets == TargetKind::class_set && !asks_each_class ? TargetKind::values : targets;
}

}  // namespace dllaunch

#include "launcher/launch/ask_stages.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dllaunch {
namespace {

/// Opening a large folder of images takes a while.
constexpr std::chrono::seconds patience(20);

/// The trainer's "dltrain: error: WHAT" and "  try: HINT".
Error refusal(std::string_view text) {
  constexpr std::string_view what_mark = "dltrain: error: ";
  constexpr std::string_view hint_mark = "  try: ";
  Error error{ErrorKind::bad_request, "", ""};
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.starts_with(hint_mark)) error.hint = line.substr(hint_mark.size());
    if (!line.starts_with(what_mark)) continue;
    if (!error.what.empty()) error.what += '\n';
    error.what += line.substr(what_mark.size());
  }
  return error;
}

/// What the trainer says a rank holds; nullopt: it cannot be asked, and `unknown` says why.
Result<std::optional<std::string>> ask_trainer(System& system, const LaunchPlan& plan,
                                               std::optional<std::int64_t> memory_bytes,
                                               std::string& unknown) {
  std::vector<std::string> argv{plan.paths.dltrain, "--describe-stages", plan.train_json,
                                std::to_string(plan.ranks())};
  if (memory_bytes) argv.push_back(std::to_string(*memory_bytes));
  const auto answer = system.run(argv, patience);
  if (!answer) {
    unknown = answer.error().what;
    return std::optional<std::string>();
  }
  constexpr int refused = 2;  // of dltrain: the configuration or the data
  constexpr int impossible = 3;
  Error error = refusal(answer->err);
  if ((answer->exit_code == refused || answer->exit_code == impossible) && !error.what.empty()) {
    if (answer->exit_code == impossible) error.kind = ErrorKind::unsatisfiable;
    return error;
  }
  return std::optional(answer->out);
}

}  // namespace

Result<std::optional<PipelinePlan>> ask_stages(System& system, const LaunchPlan& plan) {
  auto pipeline = pipeline_of(plan);
  if (!pipeline || !*pipeline) return pipeline;
  PipelinePlan& stages = **pipeline;
  const auto answer = ask_trainer(system, plan, stages.memory_bytes, stages.unknown);
  if (!answer) return answer.error();
  if (*answer) read_stages(**answer, stages);
  return pipeline;
}

Result<std::optional<SplitPlan>> ask_split(System& system, const LaunchPlan& plan) {
  auto split = split_of(plan);
  if (!split) return split;
  const auto answer = ask_trainer(system, plan, split->memory_bytes, split->unknown);
  if (!answer) return answer.error();
  if (*answer) read_split(**answer, *split);
  return split;
}

Result<LaunchPlan> with_stage_warnings(System& system, Result<LaunchPlan> plan) {
  if (!plan) return plan;
  const auto stages = ask_stages(system, *plan);
  if (!stages) return stages.error();
  if (*stages) std::ranges::move(warnings_of(**stages), std::back_inserter(plan->warnings));
  const auto split = ask_split(system, *plan);
  if (!split) return split.error();
  if (*split) std::ranges::move(warnings_of(**split), std::back_inserter(plan->warnings));
  return plan;
}

}  // namespace dllaunch

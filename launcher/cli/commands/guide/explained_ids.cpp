#include "launcher/cli/commands/guide/explained_ids.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>

#include "launcher/base/exit_code.hpp"
#include "launcher/cli/error_kinds.hpp"
#include "launcher/lint/rule.hpp"
#include "launcher/preflight/check.hpp"
#include "launcher/presubmit/finding.hpp"
#include "launcher/run/failure.hpp"
#include "launcher/run/summary.hpp"
#include "launcher/slurm/pending_reasons.hpp"
#include "launcher/slurm/refusals.hpp"
#include "topology/diagnosis/diagnosis.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view see_logs =
    "`dllaunch status RUN` names the first error and what to change; `dllaunch logs RUN` shows the "
    "output.";

/// In the order of RunStatus.
constexpr Explanation status_table[] = {
    {"completed", "The run did all its work.", "Every rank ended with exit code 0.", ""},
    {"failed", "The run ended with an error.", "A rank exited with an error or died of a signal.",
     see_logs},
    {"cancelled", "The run was ended on request.",
     "By `dllaunch cancel`, Ctrl-C, scancel or an administrator.",
     "`dllaunch run RUN` resumes from the last checkpoint."},
    {"timeout", "The run reached its time limit.",
     "resources.time, or the partition's limit, was shorter than the remaining work needs.",
     "Raise resources.time, or continue with `dllaunch run RUN`. With timeout in "
     "recovery.requeue_on the job is requeued instead."},
    {"preempted", "Slurm gave the nodes to another job.", "That job has a higher priority or QOS.",
     "Continue with `dllaunch run RUN`. With preempted in recovery.requeue_on the job is requeued "
     "instead."},
    {"node_fail", "A node of the job failed.", "It crashed, or lost its network or power.",
     "Continue with `dllaunch run RUN`; recovery.spare_nodes keeps nodes for this case."},
    {"out_of_memory", "A rank needed more memory than the job has.",
     "The kernel or Slurm killed it with SIGKILL.",
     "Lower train.batch_size or the number of data workers, or ask for more memory with "
     "resources.sbatch_extra: [--mem=...]."},
};
static_assert(std::size(status_table) == std::size(run_status_names));

/// Adds the entries of a table.
void add(std::vector<ExplainedId>& all, std::string_view kind, std::span<const Explanation> table) {
  for (const auto& [id, meaning, cause, remedy] : table)
    all.push_back(
        {kind, std::string(id), std::string(meaning), std::string(cause), std::string(remedy)});
}

std::string sentence(std::string_view text) {
  std::string sentence(text);
  if (!sentence.empty())
    sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[0])));
  return sentence.ends_with('.') ? sentence : sentence + ".";
}

void add_lint_rules(std::vector<ExplainedId>& all) {
  for (const lint::RuleArea& area : lint::rule_areas()) {
    for (const lint::Rule& rule : area.rules) {
      const bool error = rule.severity == lint::Severity::error;
      all.push_back({error ? "lint rule, an error" : "lint rule, a warning", std::string(rule.id),
                     std::string(rule.summary), std::string(area.cause),
                     "Write what the finding suggests; `dllaunch lint SCRIPT --fix` prints the "
                     "corrections that are safe."});
    }
  }
}

void add_node_checks(std::vector<ExplainedId>& all) {
  for (const RuleName& rule : rule_names())
    all.push_back({"finding of doctor", std::string(rule.id), sentence(rule.title),
                   "It matters: " + std::string(rule.cost) + ".",
                   "The finding names the flag, variable or line of the job file to change; "
                   "`dllaunch bind` shows a good binding."});
  all.push_back({"check of a node before a start", "answer", "Looks at whether a node answers.",
                 "A node that is down, cut off or cannot start programs does not.",
                 "Leave the node out with resources.exclude."});
  for (const PreflightCheck* check : preflight_checks())
    all.push_back({"check of a node before a start", std::string(check->name),
                   "Looks at " + std::string(check->about) + ".",
                   "A node that fails it would slow down or stop all ranks.",
                   fmt::format("Leave the node out with resources.exclude, or skip the check with "
                               "`dllaunch doctor --preflight --skip {}`.",
                               check->name)});
}

bool same_in_any_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// 128+N for the exit code of a signal; the code itself otherwise.
std::string code_of_table(const std::string& id) {
  int code = 0;
  const auto end = std::from_chars(id.data(), id.data() + id.size(), code);
  const bool whole = end.ec == std::errc() && end.ptr == id.data() + id.size();
  constexpr int most_signals = 64;
  return whole && code > 128 && code <= 128 + most_signals ? "128+N" : id;
}

}  // namespace

std::vector<ExplainedId> explained_ids() {
  std::vector<ExplainedId> all;
  add(all, "exit code", exit_codes());
  add(all, "end of a run", status_table);
  add(all, "kind of error, printed with -v", error_kinds());
  add(all, "check before the queue", queue_checks());
  add_lint_rules(all);
  add_node_checks(all);
  return all;
}

std::vector<ExplainedId> explain_id(const std::string& id) {
  const std::string wanted = code_of_table(id);
  std::vector<ExplainedId> found = explained_ids();
  std::erase_if(found, [&](const ExplainedId& one) { return !same_in_any_case(one.id, wanted); });
  if (!found.empty() && wanted != id) {
    found[0].id = id;
    found[0].meaning =
        fmt::format("dllaunch itself was stopped by {}.", signal_name(std::stoi(id) - 128));
  }
  if (const auto* refusal = refusal_in(id); refusal != nullptr && found.empty())
    found.push_back({"Slurm refuses a job", std::string(refusal->says), sentence(refusal->means),
                     "sbatch and srun print it when the controller or they themselves refuse.",
                     sentence(refusal->next)});
  // A word that dllaunch uses too, in another case: Reservation.
  const std::string reason = explain_reason(id);
  if (reason != id)
    found.push_back({"Slurm's reason why a job waits", id, sentence(reason),
                     "Slurm decides; `squeue` shows the same word.",
                     "`dllaunch status RUN` shows when Slurm expects to start the job."});
  return found;
}

}  // namespace dllaunch

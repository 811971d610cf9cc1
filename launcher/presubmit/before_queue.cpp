#include "launcher/presubmit/before_queue.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <ctime>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/plan/profile_job.hpp"
#include "launcher/presubmit/cluster_checks.hpp"
#include "launcher/presubmit/file_checks.hpp"
#include "launcher/presubmit/module_checks.hpp"
#include "launcher/presubmit/network_checks.hpp"
#include "launcher/slurm/pending_reasons.hpp"
#include "launcher/slurm/slurm_job.hpp"
#include "launcher/slurm/slurm_messages.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

void add(CheckFindings& found, CheckFindings more) {
  std::move(more.begin(), more.end(), std::back_inserter(found));
}

bool any_fatal(const CheckFindings& found) {
  return std::any_of(found.begin(), found.end(), [](const CheckFinding& one) { return one.fatal; });
}

bool is_known(const CheckFindings& found, const Error& problem) {
  return std::any_of(found.begin(), found.end(),
                     [&](const CheckFinding& one) { return one.problem.what == problem.what; });
}

/// The check that explains an error of plan().
QueueCheck check_of(const Error& problem) {
  const auto checks = queue_checks();
  const auto found = std::ranges::find(checks, problem.id, &Explanation::id);
  return found == checks.end() ? QueueCheck::plan : static_cast<QueueCheck>(found - checks.begin());
}

/// Whether some nodes are unavailable because they are drained or reserved.
bool nodes_are_taken(const SlurmFacts& slurm) {
  return !slurm.outages.empty() || (slurm.reservations && !slurm.reservations->empty());
}

/// Slurm decides about its own rules; our knowledge of them may be wrong.
void leave_to_slurm(CheckFindings& of_cluster) {
  for (auto& finding : of_cluster) {
    if (!finding.fatal) continue;
    finding.fatal = false;
    finding.problem.what +=
        ", as far as dllaunch can see; sbatch --test-only accepts the job anyway";
  }
}

void take_estimate(const std::string& estimate, const SlurmFacts& slurm, QueueReport& report) {
  constexpr std::string_view before = "start at ";
  const auto time = estimate.substr(std::min(estimate.size(), before.size()));
  if (is_useful_start(time.substr(0, time.find(' ')), unix_seconds()))
    report.estimate = estimate;
  else
    report.no_estimate =
        nodes_are_taken(slurm)
            ? "Slurm cannot tell when it starts: nodes are out of order or reserved"
            : "Slurm cannot tell when it starts";
}

/// Whether Slurm takes the job once it no longer waits for few leaf switches (--switches; without a
/// time SchedulerParameters' max_switch_wait, 5 minutes). --test-only refuses what must wait so.
bool only_waits_for_switches(System& system, std::vector<std::string> options) {
  const auto asked = std::erase_if(
      options, [](const std::string& option) { return option.starts_with("--switches="); });
  return asked > 0 && !test_submission(system, options).refusal;
}

void try_submission(const LaunchPlan& plan, const SlurmFacts& slurm, System& system,
                    QueueReport& report) {
  std::vector<std::string> options;
  for (const auto& [option, value] : plan.sbatch)
    options.push_back(value.empty() ? option : fmt::format("{}={}", option, value));
  options.insert(options.end(), plan.sbatch_extra.begin(), plan.sbatch_extra.end());
  const auto tested = test_submission(system, options);
  if (!tested.refusal) {
    take_estimate(start_estimate_in(tested.message), slurm, report);
    leave_to_slurm(report.findings);
    return;
  }
  const auto& error = *tested.refusal;
  if (error.kind == ErrorKind::timeout) {
    add_as(QueueCheck::sbatch, report.findings, [&] {
      add_warning(report.findings, error.what, "Slurm is busy; it may still accept the job");
    });
    return;
  }
  // dllaunch's message for the same problem says what to do.
  if (any_fatal(report.findings)) return;
  add_as(QueueCheck::sbatch, report.findings, [&] {
    if (only_waits_for_switches(system, options))
      add_warning(report.findings, "now no nodes are on so few leaf switches",
                  "Slurm waits for such nodes as long as resources.switches.wait says (or the "
                  "cluster: 5 min by default), then takes any");
    else if (may_only_mean_later(tested.message, nodes_are_taken(slurm)))
      add_warning(report.findings, error.what,
                  "nodes are out of order or reserved: it may have to wait for them");
    else
      report.findings.push_back({.problem = error, .fatal = true});
  });
}

/// A profile's mounts exist on the nodes, not necessarily on this machine.
Job with_own_mounts(Job job, const Job& own) {
  if (job.environment.container)
    job.environment.container->mounts = own.environment.container->mounts;
  return job;
}

}  // namespace

bool QueueReport::passed() const {
  return !any_fatal(findings);
}

QueueReport check_here(const Job& job, const Paths& paths, System& system) {
  QueueReport report{.findings = check_files(job, paths, system)};
  add_as(QueueCheck::modules, report.findings,
         [&] { add(report.findings, check_modules(job.environment.modules, system)); });
  return report;
}

QueueReport check_before_queue(const Job& own, const Facts& facts, const Paths& paths,
                               const Result<LaunchPlan>& made, bool recorded, System& system) {
  QueueReport report;
  const Job job = facts.profile ? with_profile(own, *facts.profile) : own;
  auto slurm = *facts.slurm;
  if (!recorded) observe_user(system, slurm);
  report.findings =
      check_cluster(job, slurm, recorded && facts.time > 0 ? facts.time : std::time(nullptr));
  add(report.findings, check_network(job, slurm));
  // Report sbatch's refusal only if nothing else explains it: file checks come later.
  if (!made && !is_known(report.findings, made.error()))
    report.findings.push_back(
        {.problem = made.error(), .fatal = true, .check = check_of(made.error())});
  if (recorded) return report;
  if (made) try_submission(*made, slurm, system, report);
  add(report.findings, check_here(with_own_mounts(job, own), paths, system).findings);
  add(report.findings, check_shared(job, paths, system));
  return report;
}

std::string text_with_id(const CheckFinding& finding) {
  return fmt::format("{} [{}]", finding.problem.what, to_string(finding.check));
}

std::string estimate_words(const QueueReport& report) {
  if (!report.passed()) return "";
  return report.estimate.empty() ? report.no_estimate : "Slurm expects it to " + report.estimate;
}

Error as_error(const QueueReport& report) {
  std::vector<const CheckFinding*> fatal;
  for (const auto& finding : report.findings)
    if (finding.fatal) fatal.push_back(&finding);
  if (fatal.size() == 1) {
    const Error& one = fatal[0]->problem;
    const auto explain = fmt::format("dllaunch explain {}", to_string(fatal[0]->check));
    return {one.kind, text_with_id(*fatal[0]),
            one.hint.empty() ? explain : one.hint + "\n  explain: " + explain,
            to_string(fatal[0]->check)};
  }
  Error all{ErrorKind::unsatisfiable,
            fmt::format("{} problems, nothing was submitted", fatal.size()),
            "`dllaunch explain ID` explains what is in brackets"};
  for (const auto* finding : fatal) {
    const Error& problem = finding->problem;
    if (problem.kind == ErrorKind::bad_request) all.kind = ErrorKind::bad_request;
    all.what += "\n  " + text_with_id(*finding);
    if (!problem.hint.empty()) all.what += fmt::format("\n    try: {}", problem.hint);
  }
  return all;
}

std::string render_report(const QueueReport& report) {
  std::string text;
  for (const auto& finding : report.findings) {
    const auto& problem = finding.problem;
    text += fmt::format("  {:8}{}\n", finding.fatal ? "error" : "warning", text_with_id(finding));
    if (!problem.hint.empty()) text += fmt::format("  {:8}try: {}\n", "", problem.hint);
  }
  if (text.empty()) text = "  no problem found\n";
  if (const auto words = estimate_words(report); !words.empty())
    text += fmt::format("  {}{}\n", report.findings.empty() ? "" : std::string(8, ' '), words);
  return "checks before the queue\n" + text;
}

Json to_json(const QueueReport& report) {
  Json findings = Json::array();
  for (const auto& finding : report.findings)
    findings.push_back({{"fatal", finding.fatal},
                        {"id", to_string(finding.check)},
                        {"what", finding.problem.what},
                        {"hint", finding.problem.hint}});
  return {{"passed", report.passed()},
          {"findings", std::move(findings)},
          {"estimate", or_null(report.estimate)}};
}

}  // namespace dllaunch

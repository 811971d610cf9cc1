#include "launcher/launch/prepare_components.hpp"

#include <fmt/core.h>

#include <iterator>
#include <utility>

namespace dllaunch {
namespace {

/// Facts are asked for once; a named cluster's depend on the partition.
class KnownFacts {
 public:
  KnownFacts(System& system, const PlanOptions& options) : system_(system), options_(options) {}

  Result<Facts> of(const Job& job) {
    if (!known_ || job.cluster != "auto")
      known_ = find_facts(system_, options_, job.cluster, job.resources.partition);
    return *known_;
  }

 private:
  System& system_;
  const PlanOptions& options_;
  std::optional<Result<Facts>> known_;
};

void add_findings(const std::string& name, QueueReport report, QueueReport& all) {
  for (auto& finding : report.findings) {
    finding.problem = std::move(finding.problem).within("component " + name);
    all.findings.push_back(std::move(finding));
  }
  if (!report.estimate.empty()) all.estimate = std::move(report.estimate);
  if (!report.no_estimate.empty()) all.no_estimate = std::move(report.no_estimate);
}

}  // namespace

Result<PlannedComponents> plan_components(System& system, const PlanOptions& options,
                                          const Job& job, const Paths& paths, bool check) {
  PlannedComponents planned{.job = job, .plan = {}};
  KnownFacts known(system, options);
  std::vector<LaunchPlan> plans;
  for (std::size_t i = 0; i < job.components.size(); ++i) {
    const auto& [name, ends_job, own] = job.components[i];
    const auto within = [&name = name](Error error) {
      return std::move(error).within("component " + name);
    };
    auto facts = known.of(own);
    if (!facts) return std::move(facts).error();
    const bool local = options.local || !facts->slurm;
    if (local && facts->topology) {
      planned.machine = {*facts->topology, share_machine(*facts->topology, job.components)};
      planned.why_no_slurm = facts->why_no_slurm;
      facts->topology = with_share(*std::move(facts->topology), planned.machine.shares[i]);
    }
    Paths its_paths = paths;
    its_paths.run_dir = component_dir(paths.run_dir, name);
    if (!paths.files.empty()) its_paths.files = component_dir(paths.files, name);
    auto one = plan_loaded(system, options, own, its_paths, *std::move(facts));
    if (!one) return within(std::move(one).error());
    if (check) {
      auto checked = check_planned(system, options, *one, its_paths);
      add_findings(name, std::move(checked.report), planned.report);
      if (checked.elsewhere) planned.elsewhere = std::move(checked.elsewhere);
    }
    if (!one->plan && check && !planned.report.passed()) return as_error(planned.report);
    if (!one->plan) return within(std::move(one->plan).error());
    planned.job.components[i].job = std::move(one->job);
    plans.push_back(*std::move(one->plan));
  }
  auto joined = join_plans(planned.job, paths, std::move(plans));
  if (!joined) return std::move(joined).error();
  planned.plan = *std::move(joined);
  return planned;
}

}  // namespace dllaunch

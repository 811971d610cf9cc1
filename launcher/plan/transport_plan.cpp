#include "launcher/plan/transport_plan.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "launcher/plan/plan_internal.hpp"
#include "runtime/rank/mpi_module_file.hpp"
#include "runtime/rank/transport.hpp"

namespace dllaunch {
namespace {

bool sets(const Job& job, std::string_view name) {
  return std::ranges::any_of(job.environment.variables,
                             [&](const auto& variable) { return variable.first == name; });
}

/// Whether an mpirun that is not on PATH now may be there when the ranks start.
bool may_bring_mpirun(const Job& job) {
  const auto& environment = job.environment;
  return !environment.modules.empty() || environment.activate || environment.setup ||
         sets(job, "PATH");
}

}  // namespace

std::string wanted_transport(const Job& job) {
  for (const auto& [name, value] : job.environment.variables)
    if (name == transport_variable) return value;
  const auto key = job.runtime.find("transport");
  return key != job.runtime.end() && key->is_string() ? key->get<std::string>() : "auto";
}

bool meets_over_mpi(const Job& job) {
  return !trains(job) && (job.framework == "mpi" || job.framework == "horovod");
}

Result<Ok> check_transport(const Job& job) {
  // Horovod may use Gloo; `dllaunch exec` looks.
  if (trains(job) || job.framework != "mpi" || wanted_transport(job) != "tcp") return Ok{};
  return Error{ErrorKind::bad_request,
               "framework: mpi needs ranks that are started with MPI, and runtime.transport is tcp",
               "leave out runtime.transport"};
}

bool starts_without_mpi(const Job& job, const Facts& facts) {
  const auto wanted = wanted_transport(job);
  if (wanted == "tcp" || wanted == "mpi") return wanted == "tcp";
  return trains(job) && facts.no_mpi_module && !sets(job, mpi_module_variable);
}

bool starts_by_mpirun(const Job& job, const Facts& facts) {
  if (starts_without_mpi(job, facts)) return false;
  const auto wanted = wanted_transport(job);
  if (wanted == "mpi" || !facts.no_mpirun || meets_over_mpi(job)) return true;
  // A command without a framework may be an MPI program.
  return !trains(job) && job.framework == "none" && may_bring_mpirun(job);
}

void name_transport(const Job& job, const Facts& facts, LaunchPlan& plan) {
  if (!trains(job) || plan.ranks() == 1) return;
  const auto say = [&plan](std::string name, std::string why) {
    plan.transport = std::move(name);
    plan.why_transport = std::move(why);
  };
  const auto wanted = wanted_transport(job);
  if (wanted == "tcp" || wanted == "mpi")
    return say(wanted,
               fmt::format("as {} says", sets(job, transport_variable) ? transport_variable
                                                                       : "runtime.transport"));
  if (starts_without_mpi(job, facts))
    return say("tcp", "since there is no MPI module: dllaunch build-mpi-module makes one");
  if (plan.start.kind() == Starter::mpirun) return say("mpi", "since mpirun starts the ranks");
  if (plan.start.kind() == Starter::spawn) return say("tcp", "since mpirun is not installed here");
  const auto& options = plan.start.options;
  const auto mpi = std::ranges::find_if(
      options, [](const std::string& option) { return option.starts_with("--mpi="); });
  if (mpi == options.end()) return;
  if (*mpi != "--mpi=none") return say("mpi", fmt::format("since srun {} starts the ranks", *mpi));
  const auto& theirs = job.resources.srun_extra;
  const bool chosen = std::ranges::find(theirs, *mpi) != theirs.end();
  say("tcp", chosen ? "since resources.srun_extra has --mpi=none" : "since srun has no PMIx here");
}

}  // namespace dllaunch

#include "launcher/slurm/pending_reasons.hpp"

#include <fmt/core.h>

#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/slurm/slurm_time.hpp"

namespace dllaunch {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

/// AssocGrpGRESMinutes, QOSMaxCpuPerUserLimit, MaxMemPerAccount: limit's owner, resource, scope.
std::string limit_in_words(std::string_view reason) {
  constexpr std::array<Pair, 7> owners = {{{"AssocGrp", "of the account"},
                                           {"AssocMax", "of the account for you"},
                                           {"Association", "of the account"},
                                           {"QOSGrp", "of the QOS"},
                                           {"QOSMax", "of the QOS"},
                                           {"QOSMin", "of the QOS"},
                                           {"Max", "of the QOS"}}};
  constexpr std::array<Pair, 12> resources = {{{"Billing", "billing units"},
                                               {"Submit", "jobs in the queue"},
                                               {"GRES", "GPUs and other devices"},
                                               {"Gres", "GPUs and other devices"},
                                               {"Energy", "energy"},
                                               {"License", "licences"},
                                               {"Jobs", "running jobs"},
                                               {"Node", "nodes"},
                                               {"Mem", "memory"},
                                               {"Cpu", "CPUs"},
                                               {"CPU", "CPUs"},
                                               {"BB", "burst buffer"}}};
  for (const auto& [owner, whose] : owners) {
    if (!reason.starts_with(owner)) continue;
    const auto what = reason.substr(owner.size());
    const auto has = [what](std::string_view part) {
      return what.find(part) != std::string_view::npos;
    };
    const bool of_job = has("PerJob");
    const bool of_node = has("PerNode");
    if (what.starts_with("Wall") && of_job)
      return fmt::format("it asks for more time than a job may have, by the limit {}", whose);
    if (what.starts_with("Wall"))
      return fmt::format("the budget of time {} is used up for this period", whose);
    const auto resource = std::ranges::find_if(
        resources, [what](const Pair& one) { return what.find(one.first) < what.find("Per"); });
    const auto name =
        resource == resources.end() ? std::string_view("one resource") : resource->second;
    if (owner == "QOSMin")
      return fmt::format("it asks for {} {} than the QOS requires",
                         name.ends_with('s') ? "fewer" : "less", name);
    if (has("RunM"))
      return fmt::format("the running jobs hold all of the {} that the limit {} gives at a time",
                         name, whose);
    if (has("Minutes") && !of_job)
      return fmt::format("the budget of {} {} is used up for this period", name, whose);
    if (has("Minutes"))
      return fmt::format(
          "it asks for more {} x time than a job may have, by the limit {}: a "
          "shorter time helps too",
          name, whose);
    if (of_job || of_node)
      return fmt::format("it asks for more {} than a {} may have, by the limit {}", name,
                         of_job ? "job" : "node", whose);
    if (resource != resources.end())
      return fmt::format("the limit on {} {} is reached", name, whose);
    if (owner != "Max" || has("Unknown")) return fmt::format("a limit {} is reached", whose);
  }
  return {};
}

}  // namespace

std::string explain_reason(const std::string& reason) {
  static const std::map<std::string_view, std::string_view> words = {
      {"AccountNotAllowed", "its account may not use the partition"},
      {"AccountingPolicy", "a limit of its account or QOS is reached"},
      {"BadConstraints",
       "no nodes of the cluster can ever meet its request: cancel it and change its resources"},
      {"BeginTime", "waiting for its start time: --begin, or Slurm's delay after a requeue"},
      {"BlockFreeAction", "its block of nodes is being freed"},
      {"BlockMaxError", "its block of nodes had too many errors"},
      {"BurstBufferOperation", "its burst buffer failed"},
      {"BurstBufferResources", "waiting for room in the burst buffer"},
      {"BurstBufferStageIn", "its data are being copied to the burst buffer"},
      {"Cleaning", "back in the queue; Slurm still cleans up after its last start"},
      {"Constraints", "no nodes that fit its request are free"},
      {"DeadLine", "it cannot end before its deadline"},
      {"Dependency", "waiting for another job"},
      {"DependencyNeverSatisfied", "the job it waits for failed: it will never start"},
      {"FedJobLock", "waiting for the other clusters of the federation"},
      {"FrontEndDown", "no front end node is up"},
      {"InactiveLimit", "it was inactive for too long"},
      {"InvalidAccount", "its account is not valid: cancel it and change resources.account"},
      {"InvalidQOS", "its QOS is not valid: cancel it and change resources.qos"},
      {"JobArrayTaskLimit", "the array's limit on tasks at once is reached"},
      {"JobHeldAdmin", "held by an administrator: only they can release it"},
      {"JobHeldUser", "held: `scontrol release JOBID` releases it"},
      {"JobHoldMaxRequeue", "held: it was requeued too often"},
      {"JobLaunchFailure", "it could not be started: a node may be faulty"},
      {"Licenses", "waiting for a licence"},
      {"MaxMemPerLimit", "it asks for more memory than the cluster allows a CPU or a node"},
      {"MaxPoweredUpNodes", "the limit on nodes that are powered up at a time is reached"},
      {"MpiPortsBusy", "the ports for MPI are taken on its nodes"},
      {"NodeDown", "a node that it needs is down"},
      {"NonZeroExitCode", "it ended with an error"},
      {"NvidiaImexChannels", "waiting for a channel of NVIDIA's memory exchange"},
      {"OutOfMemory", "it ended for want of memory"},
      {"PartitionConfig", "the partition's settings do not admit it: `scontrol show partition`"},
      {"PartitionDown", "the partition is down"},
      {"PartitionInactive", "the partition is inactive"},
      {"PartitionNodeLimit",
       "it asks for more nodes than the partition allows, or for nodes that "
       "are down"},
      {"PartitionTimeLimit", "it asks for more time than the partition allows"},
      {"PowerNotAvail", "the cluster has no power left for it"},
      {"PowerReserved", "the power that it needs is reserved"},
      {"Priority", "jobs with higher priority are ahead"},
      {"Prolog", "its nodes are being prepared"},
      {"QOSJobLimit", "the QOS has reached its limit of jobs"},
      {"QOSNotAllowed", "its QOS may not be used with this account or partition"},
      {"QOSResourceLimit", "the QOS has reached a limit on resources"},
      {"QOSTimeLimit", "the QOS has used up its compute time"},
      {"QOSUsageThreshold", "the account has used more than its share, and its QOS wants it below"},
      {"RaisedSignal", "it was ended by a signal"},
      {"ReqNodeNotAvail", "nodes it needs are not available"},
      {"ReqNodesNotAvailable", "nodes it needs are not available"},
      {"Reservation", "waiting for its reservation to begin"},
      {"ReservationDeleted",
       "its reservation was deleted: cancel it and change "
       "resources.reservation"},
      {"ReservationInvalid",
       "its reservation is not valid: cancel it and change resources.reservation"},
      {"Resources", "next in line, waiting for nodes to become free"},
      {"SchedDefer", "Slurm delays new jobs for a moment"},
      {"SystemFailure", "Slurm, a file system or the network failed"},
      {"TimeLimit", "it reached its time limit"},
  };
  if (reason.empty() || reason == "None") return "waiting for Slurm to consider it";
  // "ReqNodeNotAvail, UnavailableNodes:n2", "(Resources)", "AssocGrpGRES"
  const auto begin = reason.find_first_not_of("( ");
  const auto end = reason.find_first_of(",) ", begin == std::string::npos ? 0 : begin);
  if (begin == std::string::npos) return reason;
  const auto key = std::string_view(reason).substr(begin, end - begin);
  const auto found = words.find(key);
  const auto said = found != words.end() ? std::string(found->second) : limit_in_words(key);
  if (said.empty()) return reason;
  return fmt::format("{} ({})", said, reason);
}

std::string explain_waiting(const std::string& reason, const std::string& start) {
  auto text = explain_reason(reason);
  if (start.empty()) return text;
  return text + (is_useful_start(start, unix_seconds()) ? ", expected to start " + start
                                                        : ", Slurm cannot tell until when");
}

bool is_useful_start(std::string_view time, double now_s) {
  constexpr double thirty_days = 30 * 86400.0;
  const auto start = parse_slurm_time(time);
  return !start || static_cast<double>(*start) - now_s <= thirty_days;
}

}  // namespace dllaunch

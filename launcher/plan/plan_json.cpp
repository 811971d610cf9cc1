
#include "launcher/plan/plan.hpp"
#include "support/id_set.hpp"
#include "support/json.hpp"
#include "topology/render/masks.hpp"

namespace dllaunch {
namespace {

std::string_view word(BindMode mode) {
  switch (mode) {
    case BindMode::cores:
      return "cores";
    case BindMode::core:
      return "core";
    case BindMode::numa:
      return "numa";
  }
  return "cores";
}

/// The placement request: the shim repeats it where the real node differs.
Json to_json(const PlacementRequest& request) {
  return {{"policy", to_string(request.policy)},
          {"mode", word(request.mode)},
          {"cores", to_string(request.cores)},
          {"order", request.order == RankOrder::gpu ? "gpu" : "numa"},
          {"gpus", request.gpus},
          {"cores_per_rank", request.cores_per_rank},
          {"smt", request.smt},
          {"reserve", request.reserve}};
}

/// Absent values are null. If not exact, the shim repeats the placement on each node.
Json to_json(const TopologyOrigin& origin, bool exact) {
  return {{"source", origin.source},
          {"host", origin.host.empty() ? Json(nullptr) : Json(origin.host)},
          {"age_seconds", origin.age_seconds ? Json(*origin.age_seconds) : Json(nullptr)},
          {"exact", exact}};
}

Json object_of(const std::vector<std::pair<std::string, std::string>>& pairs) {
  Json object = Json::object();
  for (const auto& [key, value] : pairs) object[key] = value;
  return object;
}

/// Null: no stall detection.
Json to_json(const RecoveryPlan& recovery) {
  auto causes = Json::array();
  if (recovery.requeue_on.timeout) causes.push_back("timeout");
  if (recovery.requeue_on.preempted) causes.push_back("preempted");
  if (recovery.requeue_on.node_fail) causes.push_back("node_fail");
  const double limit = recovery.stall_abort_seconds;
  return {{"max_restarts", recovery.max_restarts},
          {"requeue_on", std::move(causes)},
          {"stall_abort_seconds", limit > 0 ? Json(limit) : Json(nullptr)},
          {"preflight", to_string(recovery.preflight)},
          {"spare_nodes", recovery.spare_nodes}};
}

/// Null for the built-in trainer: its ranks find each other through MPI and need no rendezvous.
Json framework_of(const LaunchPlan& plan) {
  if (!plan.train_json.empty() || plan.framework.empty()) return nullptr;
  return plan.framework;
}

}  // namespace

Json to_json(const LaunchPlan& plan) {
  const bool by_srun = plan.start.starts_by_srun();
  const Json start = plan.start.argv();
  Json document = {{"name", plan.name},
                   {"launcher", plan.launcher == Launcher::slurm ? "slurm" : "local"},
                   {"nodes", plan.nodes},
                   {"ranks", plan.ranks()},
                   {"ranks_per_node", plan.ranks_per_node},
                   {"topology", to_json(plan.origin, plan.exact)},
                   {"binding", to_json(plan.topology, plan.placement)},
                   {"srun", by_srun ? start : Json::array()},
                   {"sbatch", object_of(plan.sbatch)},
                   {"environment", object_of(plan.environment)},
                   {"placement", to_json(plan.request)},
                   {"framework", framework_of(plan)},
                   {"asks_ranks", plan.asks_ranks},
                   {"recovery", to_json(plan.recovery)},
                   {"run_dir", plan.paths.run_dir},
                   {"warnings", plan.warnings}};
  if (plan.container)
    document["container"] = {{"image", plan.container->image},
                             {"runtime", plan.container->runtime},
                             {"mounts", plan.container->mounts},
                             {"pyxis", plan.pyxis}};
  if (plan.array) document["array"] = *plan.array;
  if (!plan.after.empty()) document["after"] = plan.after;
  if (!plan.left_alone.empty()) document["left_alone"] = plan.left_alone;
  if (plan.stage.wanted())
    document["stage"] = {{"sources", plan.stage.sources},
                         {"programs", plan.stage.programs},
                         {"broadcast", plan.stage.broadcast}};
  if (!plan.profile.empty()) {
    document["cluster"] = plan.cluster;
    document["node_folders"] = object_of(plan.node_folders);
    document["host_suffix"] = plan.host_suffix;
    document["scheduler"] = plan.scheduler;
    if (!plan.before.empty()) document["before"] = plan.before;
  }
  if (!plan.sbatch_extra.empty()) document["sbatch_extra"] = plan.sbatch_extra;
  if (!by_srun) document[plan.scheduler == "Slurm" ? "mpirun" : "start"] = start;
  return document;
}

}  // namespace dllaunch

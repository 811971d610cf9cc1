// Writes plan.json, and reads it in every version. Knows nothing that is not in the file.
#include <algorithm>
#include <charconv>

#include "launcher/plan/plan.hpp"
#include "support/id_set.hpp"
#include "support/json_fields.hpp"
#include "topology/discovery/topology_format.hpp"
#include "topology/render/masks.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view launchers[] = {"local", "slurm"};
constexpr std::string_view mode_names[] = {"cores", "core", "numa"};
constexpr std::string_view order_names[] = {"gpu", "numa"};
constexpr int most_nodes = 99'999'999;
constexpr double most_hold_seconds = 366 * 86400.0;

/// Null for the built-in trainer: its ranks find each other through MPI and need no rendezvous.
Json framework_of(const LaunchPlan& plan) {
  if (!plan.train_json.empty() || plan.framework.empty()) return nullptr;
  return plan.framework;
}

/// The node that was planned for, without its cores: reports draw NUMA nodes, GPUs and NICs.
Json node_of(const Topology& topology) {
  Json node = to_json(topology);
  node.erase("cores");
  return node;
}

}  // namespace

/// The block "topology". If not exact, the shim repeats the placement on each node.
struct OriginBlock {
  TopologyOrigin& origin;
  bool& exact;
};

template <typename Field>
void visit_fields(Field& field, OriginBlock& block) {
  field("source", block.origin.source);
  field.or_null("host", block.origin.host);
  field("age_seconds", block.origin.age_seconds);
  field("exact", block.exact);
}

/// The placement request: the shim repeats it where the real node differs.
template <typename Field>
void visit_fields(Field& field, PlacementRequest& request) {
  const auto word = [](auto value) { return to_string(value); };
  field("policy", as_text(request.policy, word, parse_bind_policy));
  field("mode", as_word(request.mode, mode_names));
  field("cores", as_text(request.cores, word, parse_bind_cores));
  field("order", as_word(request.order, order_names));
  field("gpus", request.gpus);
  field("cores_per_rank", request.cores_per_rank);
  field("smt", request.smt);
  field("reserve", request.reserve);
}

static Json to_json(const RequeueOn& on) {
  auto causes = Json::array();
  if (on.timeout) causes.push_back("timeout");
  if (on.preempted) causes.push_back("preempted");
  if (on.node_fail) causes.push_back("node_fail");
  return causes;
}

static std::string read_json(const Json& causes, RequeueOn& on) {
  if (!causes.is_array()) return "is not an array";
  const auto has = [&](const char* word) {
    return std::find(causes.begin(), causes.end(), Json(word)) != causes.end();
  };
  on = {has("timeout"), has("preempted"), has("node_fail")};
  return "";
}

/// Versions before `recovery` left failures to Slurm.
template <typename Field>
void visit_fields(Field& field, RecoveryPlan& recovery) {
  const auto known = [](const std::string& word) { return Result(preflight_when(word)); };
  field("max_restarts", recovery.max_restarts);
  field("requeue_on", recovery.requeue_on);
  field.or_null("stall_abort_seconds", recovery.stall_abort_seconds);
  field("preflight",
        as_text(
            recovery.preflight, [](PreflightWhen when) { return to_string(when); }, known));
  field("spare_nodes", recovery.spare_nodes);
  field("min_nodes", recovery.min_nodes);
  field.unless_empty("hold_seconds", recovery.hold_seconds);
  field("autopsy", recovery.autopsy);
  field.unless_empty("avoid", recovery.avoid);
  if constexpr (Field::reads) {
    recovery.max_restarts = std::clamp(recovery.max_restarts, 0, 1000);
    recovery.stall_abort_seconds = std::max(0.0, recovery.stall_abort_seconds);
    recovery.spare_nodes = std::clamp(recovery.spare_nodes, 0, 100);
    recovery.min_nodes = std::clamp(recovery.min_nodes, 0, 1'000'000);
    recovery.hold_seconds = std::clamp(recovery.hold_seconds, 0.0, most_hold_seconds);
  }
}

template <typename Field>
void visit_fields(Field& field, NodeShare& share) {
  field.or_null("cores", share.cores);
  field.or_null("gpus", share.gpus);
  if constexpr (Field::reads) {
    constexpr int most = 1'000'000;
    for (auto* count : {&share.cores, &share.gpus})
      if (*count && (**count < 0 || **count > most)) count->reset();
  }
}

template <typename Field>
void visit_fields(Field& field, ComponentOutline& component) {
  field("name", component.name);
  field("ends_job", component.ends_job);
  field("nodes", within(component.nodes, 1, most_nodes));
  field("ranks_per_node", within(component.ranks_per_node, 1, most_nodes));
  field("signal", component.signal);
  field.unless_empty("host_suffix", component.host_suffix);
  field("along_network", component.along_network);
  field("occupies", component.occupies);
  if constexpr (Field::reads) {
    // It becomes a path.
    const bool path =
        component.name.find('/') != std::string::npos || component.name.starts_with('.');
    if (path) component.name = "?";
  }
}

struct ContainerBlock {
  std::optional<Container>& container;
  bool& pyxis;
};

template <typename Field>
void visit_fields(Field& field, ContainerBlock& block) {
  if constexpr (Field::reads) block.container.emplace();
  field("image", block.container->image);
  field("runtime", block.container->runtime);
  field("mounts", block.container->mounts);
  field("pyxis", block.pyxis);
}

template <typename Field>
void visit_fields(Field& field, StagePlan& stage) {
  field("sources", stage.sources);
  field("programs", stage.programs);
  field("broadcast", stage.broadcast);
}

/// What both directions have; to_json() and bound_plan_from_json() add the rest.
template <typename Field>
void visit_fields(Field& field, LaunchPlan& plan) {
  const bool by_srun = plan.start.starts_by_srun();
  field("name", plan.name);
  field("launcher", as_word(plan.launcher, launchers));
  if (Field::reads || plan.allocated) field("allocated", plan.allocated);
  field("nodes", within(plan.nodes, 1, most_nodes));
  field.only_written("ranks", plan.ranks());
  field("ranks_per_node", within(plan.ranks_per_node, 1, most_nodes));
  field.unless_empty("components", plan.components);
  field("topology", OriginBlock{plan.origin, plan.exact});
  if constexpr (!Field::reads) {
    field("node", node_of(plan.topology));
    field("binding", to_json(plan.topology, plan.placement));
    field("srun", by_srun ? plan.start.argv() : std::vector<std::string>());
  }
  field("sbatch", plan.sbatch);
  field("environment", plan.environment);
  if constexpr (!Field::reads) {
    field("placement", plan.request);
    field("framework", framework_of(plan));
  }
  field("asks_ranks", plan.asks_ranks);
  field("recovery", plan.recovery);
  field("network_order", as_word(plan.network_order, node_numbering_names));
  if (Field::reads || !plan.network.is_null()) field("network", plan.network);
  field.unless_empty("node_book", plan.node_book);
  field("occupies", plan.occupies);
  field("run_dir", plan.paths.run_dir);
  field.unless_empty("work_dir", plan.paths.work_dir);
  field("warnings", plan.warnings);
  if (Field::reads || plan.container)
    field("container", ContainerBlock{plan.container, plan.pyxis});
  if (plan.array) field.only_written("array", *plan.array);
  field.unless_empty("after", plan.after);
  field.unless_empty("left_alone", plan.left_alone);
  if (Field::reads || plan.stage.wanted()) field("stage", plan.stage);
  if (Field::reads || !plan.profile.empty()) {
    field("cluster", plan.cluster);
    field("node_folders", plan.node_folders);
    field("host_suffix", plan.host_suffix);
    field("scheduler", plan.scheduler);
    field.unless_empty("before", plan.before);
  }
  field.unless_empty("sbatch_extra", plan.sbatch_extra);
  const bool other = plan.scheduler != "Slurm" || plan.start.kind() == Starter::spawn;
  if (!by_srun) field.only_written(other ? "start" : "mpirun", plan.start.argv());
  if (!plan.ring.empty()) field.only_written("ring", plan.ring);
  if (!plan.transport.empty())
    field.only_written("transport", Json{{"name", plan.transport}, {"why", plan.why_transport}});
}

Json to_json(const LaunchPlan& plan) {
  return write_fields(plan);
}

namespace {

/// "B:USR2@120"
void read_signal(std::string text, LaunchPlan& plan) {
  const auto colon = text.rfind(':');
  if (colon != std::string::npos) text.erase(0, colon + 1);
  const auto mark = text.find('@');
  plan.signal = text.substr(0, mark);
  if (mark == std::string::npos) return;
  std::from_chars(text.data() + mark + 1, text.data() + text.size(), plan.grace_seconds);
}

/// The name tells which starter it is: srun, mpirun, or another one.
StartCommand read_start(const Json& document) {
  FieldReader field(document, nullptr);
  for (const char* key : {"srun", "mpirun", "start"}) {
    std::vector<std::string> words;
    field(key, words);
    if (!words.empty()) return start_command_of(words);
  }
  return {};
}

Error no_plan(const std::string& why) {
  return {ErrorKind::bad_request, "no plan: " + why, ""};
}

/// The index in `topology`, which of an older plan holds only GPUs assigned to ranks.
int position_of(const Json& gpu, Topology& topology) {
  Gpu wanted;
  FieldReader field(gpu, nullptr);
  field("index", wanted.index);
  field("pci", wanted.pci);
  const auto known = std::ranges::find_if(topology.gpus, [&](const Gpu& one) {
    return one.index == wanted.index && one.pci == wanted.pci;
  });
  const auto position = static_cast<int>(known - topology.gpus.begin());
  if (known == topology.gpus.end()) topology.gpus.push_back(wanted);
  return position;
}

Result<Ok> read_rank(const Json& object, LaunchPlan& plan) {
  if (!object.is_object()) return no_plan("a rank is not an object");
  RankPlacement rank{.local_rank = static_cast<int>(plan.placement.ranks.size())};
  std::vector<Json> gpus;
  std::string mask;
  FieldReader field(object, nullptr);
  field("nic", rank.nic);
  field("why", rank.why);
  field("gpus", gpus);
  field("mask", mask);
  for (const auto& gpu : gpus)
    if (gpu.is_object()) rank.gpus.push_back(position_of(gpu, plan.topology));
  if (plan.request.policy != BindPolicy::none) {
    auto cpus = parse_mask(mask);
    if (!cpus) return std::move(cpus).error();
    rank.cpus = *std::move(cpus);
    rank.numa = plan.topology.numa_of(rank.cpus);
  }
  plan.placement.ranks.push_back(std::move(rank));
  return Ok{};
}

}  // namespace

LaunchPlan plan_from_json(const Json& document) {
  LaunchPlan plan;
  plan.exact = true;
  plan.signal = "USR2";
  FieldReader field(document, nullptr);
  visit_fields(field, plan);
  plan.start = read_start(document);
  if (document.contains("framework")) plan.framework.clear();
  field("framework", plan.framework);
  for (const auto& [option, value] : plan.sbatch) {
    if (option == "--signal") read_signal(value, plan);
    if (option == "--array") plan.array = value;
  }
  return plan;
}

RunOutline outline_from_json(const Json& document) {
  LaunchPlan plan = plan_from_json(document);
  return std::move(static_cast<RunOutline&>(plan));
}

Result<LaunchPlan> bound_plan_from_json(const Json& document) {
  const Json* binding = document.at_path({"binding"});
  if (binding == nullptr || !binding->is_object()) return no_plan("no `binding` in it");
  auto plan = plan_from_json(document);
  // Versions before `placement` tell only the policy.
  const Json* placement = document.at_path({"placement"});
  const auto problem = read_fields(placement == nullptr ? *binding : *placement, plan.request);
  if (!problem.empty()) return no_plan("placement: " + problem);
  plan.placement.policy = plan.request.policy;
  if (const Json* node = document.at_path({"node"}); node != nullptr) {
    if (auto topology = topology_from_json(*node)) plan.topology = *std::move(topology);
  }
  std::vector<Json> ranks;
  FieldReader(*binding, nullptr)("ranks", ranks);
  for (const auto& rank : ranks)
    if (auto read = read_rank(rank, plan); !read) return std::move(read).error();
  return plan;
}

}  // namespace dllaunch

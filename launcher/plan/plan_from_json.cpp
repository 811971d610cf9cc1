// Reads plan.json. The only code that knows its format in every version.
#include <algorithm>
#include <charconv>

#include "launcher/plan/plan.hpp"
#include "support/id_set.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

/// The member; null if missing.
const Json& at(const Json& object, const char* key) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::string text(const Json& object, const char* key, std::string otherwise = "") {
  const auto& value = at(object, key);
  return value.is_string() ? value.get<std::string>() : std::move(otherwise);
}

int number(const Json& object, const char* key, int otherwise) {
  const auto& value = at(object, key);
  return value.is_number_integer() ? value.get<int>() : otherwise;
}

bool is_true(const Json& object, const char* key, bool otherwise) {
  const auto& value = at(object, key);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

std::vector<std::string> texts(const Json& object, const char* key) {
  std::vector<std::string> all;
  const auto& list = at(object, key);
  if (!list.is_array()) return all;
  for (const auto& one : list)
    if (one.is_string()) all.push_back(one.get<std::string>());
  return all;
}

std::vector<std::pair<std::string, std::string>> pairs(const Json& object, const char* key) {
  std::vector<std::pair<std::string, std::string>> all;
  const auto& block = at(object, key);
  if (!block.is_object()) return all;
  for (const auto& [name, value] : block.items())
    if (value.is_string()) all.emplace_back(name, value.get<std::string>());
  return all;
}

/// A count of at least one.
int count(const Json& object, const char* key) {
  const auto& value = at(object, key);
  const auto found = value.is_number_integer() ? value.get<std::int64_t>() : 1;
  return found > 0 && found < 100'000'000 ? static_cast<int>(found) : 1;
}

/// "B:USR2@120"
void read_signal(std::string text, LaunchPlan& plan) {
  const auto colon = text.rfind(':');
  if (colon != std::string::npos) text.erase(0, colon + 1);
  const auto mark = text.find('@');
  plan.signal = text.substr(0, mark);
  if (mark == std::string::npos) return;
  std::from_chars(text.data() + mark + 1, text.data() + text.size(), plan.grace_seconds);
}

/// Versions before `recovery` left failures to Slurm.
RecoveryPlan read_recovery(const Json& document) {
  RecoveryPlan recovery;
  const auto& block = at(document, "recovery");
  if (!block.is_object()) return recovery;
  const auto take = [&](const char* key, std::int64_t most, int& into) {
    const auto& value = at(block, key);
    if (value.is_number_integer())
      into = static_cast<int>(std::clamp<std::int64_t>(value.get<std::int64_t>(), 0, most));
  };
  take("max_restarts", 1000, recovery.max_restarts);
  take("spare_nodes", 100, recovery.spare_nodes);
  if (at(block, "requeue_on").is_array()) {
    const auto causes = texts(block, "requeue_on");
    const auto has = [&](const char* word) {
      return std::find(causes.begin(), causes.end(), word) != causes.end();
    };
    recovery.requeue_on = {has("timeout"), has("preempted"), has("node_fail")};
  }
  if (at(block, "preflight").is_string())
    recovery.preflight = preflight_when(text(block, "preflight"));
  if (const auto& limit = at(block, "stall_abort_seconds"); limit.is_number())
    recovery.stall_abort_seconds = std::max(0.0, limit.get<double>());
  return recovery;
}

/// The name tells which starter it is: srun, mpirun, or another scheduler's.
StartCommand read_start(const Json& document) {
  for (const char* key : {"srun", "mpirun", "start"})
    if (const auto words = texts(document, key); !words.empty()) return start_command_of(words);
  return {};
}

TopologyOrigin read_origin(const Json& topology) {
  TopologyOrigin origin{.source = text(topology, "source", "machine"),
                        .host = text(topology, "host")};
  if (const auto& age = at(topology, "age_seconds"); age.is_number_integer())
    origin.age_seconds = age.get<std::int64_t>();
  return origin;
}

void read_container(const Json& document, LaunchPlan& plan) {
  const auto& block = at(document, "container");
  if (!block.is_object()) return;
  plan.container = {.image = text(block, "image"),
                    .runtime = text(block, "runtime", "apptainer"),
                    .mounts = texts(block, "mounts")};
  plan.pyxis = is_true(block, "pyxis", false);
}

Result<PlacementRequest> read_request(const Json& object, const std::string& usual_policy) {
  auto policy = parse_bind_policy(text(object, "policy", usual_policy));
  if (!policy) return std::move(policy).error();
  auto mode = parse_bind_mode(text(object, "mode", "cores"));
  if (!mode) return std::move(mode).error();
  auto cores = parse_bind_cores(text(object, "cores", "auto"));
  if (!cores) return std::move(cores).error();
  auto order = parse_rank_order(text(object, "order", "gpu"));
  if (!order) return std::move(order).error();
  PlacementRequest request;
  request.policy = *policy;
  request.mode = *mode;
  request.cores = *cores;
  request.order = *order;
  request.gpus = number(object, "gpus", -1);
  request.cores_per_rank = number(object, "cores_per_rank", 0);
  request.smt = is_true(object, "smt", false);
  request.reserve = text(object, "reserve", "auto");
  return request;
}

/// The index in `topology`, which holds only GPUs assigned to ranks.
int position_of(const Json& gpu, Topology& topology) {
  const Gpu wanted{.index = number(gpu, "index", 0), .pci = text(gpu, "pci")};
  const auto known = std::ranges::find_if(topology.gpus, [&](const Gpu& one) {
    return one.index == wanted.index && one.pci == wanted.pci;
  });
  const auto position = static_cast<int>(known - topology.gpus.begin());
  if (known == topology.gpus.end()) topology.gpus.push_back(wanted);
  return position;
}

Error no_plan(const std::string& why) {
  return {ErrorKind::bad_request, "no plan: " + why, ""};
}

Result<Ok> read_rank(const Json& object, LaunchPlan& plan) {
  if (!object.is_object()) return no_plan("a rank is not an object");
  RankPlacement rank{.local_rank = static_cast<int>(plan.placement.ranks.size()),
                     .nic = text(object, "nic"),
                     .why = text(object, "why")};
  if (const auto& gpus = at(object, "gpus"); gpus.is_array())
    for (const auto& gpu : gpus)
      if (gpu.is_object()) rank.gpus.push_back(position_of(gpu, plan.topology));
  if (plan.request.policy != BindPolicy::none) {
    auto cpus = parse_mask(text(object, "mask"));
    if (!cpus) return std::move(cpus).error();
    rank.cpus = *std::move(cpus);
  }
  plan.placement.ranks.push_back(std::move(rank));
  return Ok{};
}

}  // namespace

LaunchPlan plan_from_json(const Json& document) {
  LaunchPlan plan;
  plan.name = text(document, "name");
  plan.launcher = text(document, "launcher") == "slurm" ? Launcher::slurm : Launcher::local;
  plan.nodes = count(document, "nodes");
  plan.ranks_per_node = count(document, "ranks_per_node");
  plan.origin = read_origin(at(document, "topology"));
  plan.exact = is_true(at(document, "topology"), "exact", true);
  plan.start = read_start(document);
  plan.sbatch = pairs(document, "sbatch");
  plan.sbatch_extra = texts(document, "sbatch_extra");
  plan.environment = pairs(document, "environment");
  plan.left_alone = texts(document, "left_alone");
  plan.signal = "USR2";
  for (const auto& [option, value] : plan.sbatch) {
    if (option == "--signal") read_signal(value, plan);
    if (option == "--array") plan.array = value;
  }
  plan.asks_ranks = is_true(document, "asks_ranks", true);
  plan.recovery = read_recovery(document);
  plan.paths.run_dir = text(document, "run_dir");
  plan.cluster = text(document, "cluster", "auto");
  if (const auto& framework = at(document, "framework"); framework.is_string())
    plan.framework = framework.get<std::string>();
  else if (document.is_object() && document.contains("framework"))
    plan.framework.clear();
  read_container(document, plan);
  if (const auto& stage = at(document, "stage"); stage.is_object())
    plan.stage = {.sources = texts(stage, "sources"),
                  .programs = is_true(stage, "programs", false),
                  .broadcast = is_true(stage, "broadcast", false)};
  plan.after = texts(document, "after");
  plan.scheduler = text(document, "scheduler", "Slurm");
  plan.before = texts(document, "before");
  plan.host_suffix = text(document, "host_suffix");
  plan.node_folders = pairs(document, "node_folders");
  plan.warnings = texts(document, "warnings");
  return plan;
}

Result<LaunchPlan> bound_plan_from_json(const Json& document) {
  const auto& binding = at(document, "binding");
  if (!binding.is_object()) return no_plan("no `binding` in it");
  auto plan = plan_from_json(document);
  const bool asked = document.contains("placement");
  auto request =
      read_request(at(document, "placement"), asked ? "closest" : text(binding, "policy"));
  if (!request) return std::move(request).error();
  plan.request = *std::move(request);
  plan.placement.policy = plan.request.policy;
  if (const auto& ranks = at(binding, "ranks"); ranks.is_array())
    for (const auto& rank : ranks)
      if (auto read = read_rank(rank, plan); !read) return std::move(read).error();
  return plan;
}

}  // namespace dllaunch

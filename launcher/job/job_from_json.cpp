#include "launcher/job/job_from_json.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace dllaunch {
namespace {

template <typename T>
std::optional<T> unless_null(const Json& value) {
  if (value.is_null()) return std::nullopt;
  return value.get<T>();
}

std::optional<int> unless_auto(const Json& value) {
  if (!value.is_number()) return std::nullopt;
  return value.get<int>();
}

/// The value was checked; failing to parse it means that two tables disagree.
template <typename T>
T parsed(Result<T> result) {
  assert(result);
  return *std::move(result);
}

/// check_together() has seen that there is one key at most.
std::optional<JobMemory> memory_from(const Json& block) {
  for (const auto& [key, per] :
       {std::pair("per_node", MemoryPer::node), std::pair("per_rank", MemoryPer::rank),
        std::pair("per_gpu", MemoryPer::gpu)}) {
    if (block[key].is_string()) return JobMemory{.per = per, .amount = block[key]};
  }
  return std::nullopt;
}

/// Null for a key that jobs of older runs do not have.
const Json& given(const Json& block, const char* key) {
  static const Json null;
  const auto found = block.is_object() ? block.find(key) : block.end();
  return block.is_object() && found != block.end() ? *found : null;
}

/// Its lists are host lists or, where they are not, names.
std::vector<std::string> avoided_in(const Json& avoid) {
  if (avoid == "auto") return {"auto"};
  std::vector<std::string> nodes;
  if (!avoid.is_array()) return nodes;
  for (const auto& one : avoid)
    nodes.push_back(one.is_string() ? one.get<std::string>() : one.dump());
  return nodes;
}

Resources resources_from(const Json& block) {
  return {.nodes = unless_auto(block["nodes"]).value_or(1),
          .gpus_per_node = unless_auto(block["gpus_per_node"]),
          .gpus = unless_auto(block["gpus"]),
          .ranks_per_node = unless_auto(block["ranks_per_node"]),
          .device = block["device"],
          .cpus_per_rank = unless_auto(block["cpus_per_rank"]),
          .time = unless_null<std::string>(block["time"]),
          .memory = memory_from(block["memory"]),
          .partition = unless_null<std::string>(block["partition"]),
          .account = unless_null<std::string>(block["account"]),
          .qos = unless_null<std::string>(block["qos"]),
          .reservation = unless_null<std::string>(block["reservation"]),
          .constraint = unless_null<std::string>(block["constraint"]),
          .exclude = unless_null<std::string>(block["exclude"]),
          .segment = unless_null<int>(given(block, "segment")),
          .switches = unless_null<int>(given(given(block, "switches"), "count")),
          .switches_wait = unless_null<std::string>(given(given(block, "switches"), "wait")),
          .spread = given(block, "spread") == Json(true),
          .exclusive = block["exclusive"],
          .sbatch_extra = block["sbatch_extra"],
          .srun_extra = block["srun_extra"]};
}

std::optional<Container> container_from(const Json& block) {
  if (block["image"].is_null()) return std::nullopt;
  return Container{.image = block["image"], .runtime = block["runtime"], .mounts = block["mounts"]};
}

JobEnvironment environment_from(const Json& block) {
  JobEnvironment environment{.modules = block["modules"],
                             .activate = unless_null<std::string>(block["activate"]),
                             .variables = {},
                             .left_alone = {},
                             .container = container_from(block["container"]),
                             .setup = unless_null<std::string>(block["setup"])};
  for (const auto& [name, value] : block["variables"].items()) {
    if (value.is_null())
      environment.left_alone.push_back(name);
    else
      environment.variables.emplace_back(name, value.get<std::string>());
  }
  return environment;
}

RequeueOn requeue_on(const Json& causes) {
  const auto has = [&causes](const char* word) {
    return std::ranges::find(causes, word) != causes.end();
  };
  return {.timeout = has("timeout"), .preempted = has("preempted"), .node_fail = has("node_fail")};
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::vector<std::string> texts_of(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& item : list) texts.push_back(text_of(item));
  return texts;
}

/// The value as text, however it was written: "0,8".
std::string reserve_from(const Json& value) {
  if (value.is_string()) return value;
  IdSet cpus;
  for (const Json& cpu : value) cpus.insert(cpu);
  return cpus.empty() ? "none" : to_list(cpus);
}

JobBinding binding_from(const Json& block) {
  JobBinding binding;
  binding.policy = parsed(parse_bind_policy(block["policy"].get<std::string>()));
  binding.mode = parsed(parse_bind_mode(block["mode"].get<std::string>()));
  binding.cores = parsed(parse_bind_cores(block["cores"].get<std::string>()));
  binding.order = parsed(parse_rank_order(block["order"].get<std::string>()));
  const auto word = block["network_order"].get<std::string>();
  const auto named = std::ranges::find(node_numbering_names, word);
  binding.network_order =
      static_cast<NodeNumbering>(named - std::ranges::begin(node_numbering_names));
  binding.smt = block["smt"];
  binding.reserve = reserve_from(block["reserve"]);
  for (const Json& mask : block["masks"]) {
    binding.masks.push_back(parsed(parse_mask(mask.get<std::string>())));
  }
  return binding;
}

std::vector<std::string> command_from(const Json& run) {
  if (run.is_null()) return {};
  // A program that fails before the last command of a line, or of the text, has failed.
  if (run.is_string()) return {"bash", "-eo", "pipefail", "-c", run};
  return run;
}

template <typename T>
std::optional<T> number_of(const Json& value) {
  return value.is_number() ? std::optional(value.get<T>()) : std::nullopt;
}

JobSweep sweep_from(const Json& block) {
  JobSweep sweep;
  sweep.parameters = block["parameters"];
  sweep.trials = number_of<int>(block["trials"]);
  sweep.optuna = block["sampler"].is_object();
  sweep.sampler = sweep.optuna ? block["sampler"]["optuna"] : block["sampler"];
  sweep.seed = block["seed"];
  sweep.asha = block["scheduler"] == "asha";
  sweep.min_epochs = block["min_epochs"];
  sweep.max_epochs = number_of<int>(block["max_epochs"]);
  sweep.reduction = block["reduction"];
  sweep.metric = block["metric"];
  if (!block["value"].is_null()) sweep.value = block["value"];
  const bool falls = sweep.metric.find("loss") != std::string::npos ||
                     sweep.metric.find("error") != std::string::npos || sweep.metric == "seconds";
  sweep.minimize = block["direction"] == "auto" ? falls : block["direction"] == "minimize";
  sweep.concurrent = number_of<int>(block["concurrent"]);
  sweep.gpu_hours = number_of<double>(block["gpu_hours"]);
  if (!block["until"].is_null()) sweep.until = block["until"];
  sweep.nodes = unless_null<int>(block["nodes"]);
  sweep.time = unless_null<std::string>(block["time"]);
  return sweep;
}

}  // namespace

std::size_t shell_text_at(const std::vector<std::string>& argv) {
  const bool shell = argv.size() >= 3 && argv[0] == "bash" && argv[argv.size() - 2] == "-c";
  const bool ours = argv.size() == 5 && argv[1] == "-eo" && argv[2] == "pipefail";
  return shell && (argv.size() == 3 || ours) ? argv.size() - 1 : argv.size();
}

Job job_from_json(Json resolved) {
  Job job;
  job.name = resolved["name"];
  job.cluster = resolved["cluster"];
  job.resources = resources_from(resolved["resources"]);
  job.after = texts_of(resolved["after"]);
  if (!resolved["array"].is_null()) job.array = text_of(resolved["array"]);
  job.share = resolved["share"] == "group";
  job.stage = texts_of(resolved["stage"]);
  job.environment = environment_from(resolved["environment"]);
  job.binding = binding_from(resolved["binding"]);
  job.train = resolved["train"];
  job.run_command = command_from(resolved["run"]);
  job.framework = resolved["framework"];
  job.runtime = resolved["runtime"];
  job.recovery = {.signal = resolved["recovery"]["signal"],
                  .grace_seconds = resolved["recovery"]["grace_seconds"],
                  .max_restarts = resolved["recovery"]["max_restarts"],
                  .requeue_on = requeue_on(resolved["recovery"]["requeue_on"]),
                  .preflight = preflight_when(resolved["recovery"]["preflight"].get<std::string>()),
                  .spare_nodes = resolved["recovery"]["spare_nodes"],
                  .min_nodes = resolved["recovery"]["min_nodes"],
                  .autopsy = resolved["recovery"]["autopsy"],
                  .avoid = avoided_in(given(resolved["recovery"], "avoid"))};
  const Json& hold = resolved["recovery"]["hold_on_error"];
  if (!hold.is_null()) job.recovery.hold_on_error = text_of(hold);
  const Json& study = resolved["study"];
  if (!study["value"].is_null()) job.study.value = study["value"];
  if (!study["step"].is_null()) job.study.step = study["step"];
  job.study.unit = study["unit"];
  job.study.lower_is_better = study["better"] == "lower";
  job.sweep = sweep_from(resolved["sweep"]);
  job.keeps_diff = resolved["reproducibility"]["diff"];
  job.resolved = std::move(resolved);
  return job;
}

}  // namespace dllaunch

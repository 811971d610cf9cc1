#include "launcher/plan/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "launcher/base/shell_quote.hpp"
#include "launcher/cluster/cluster_catalog.hpp"
#include "launcher/cluster/cluster_profile.hpp"
#include "launcher/job/trainer_backends.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/plan/container.hpp"
#include "launcher/plan/pipeline/rank_stages.hpp"
#include "launcher/plan/plan_internal.hpp"
#include "launcher/plan/profile_job.hpp"
#include "launcher/plan/transport_plan.hpp"
#include "launcher/slurm/slurm_time.hpp"
#include "runtime/rank/transport.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

Error bad_request(std::string what, std::string hint = "") {
  return {ErrorKind::bad_request, std::move(what), std::move(hint)};
}

bool is_variable_name(std::string_view name) {
  const auto letter = [](char c) {
    return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  };
  return !name.empty() && letter(name[0]) && std::all_of(name.begin(), name.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9');
  });
}

/// Variables are exported as `export NAME=...`: checks that names are valid, not reserved by bash,
/// and do not contradict srun's options.
Result<Ok> check_variables(const Job& job) {
  constexpr std::array<std::string_view, 7> bash_own = {
      "BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID", "POSIXLY_CORRECT"};
  constexpr std::array<std::string_view, 2> fatal_twice = {"SLURM_CPUS_PER_TASK",
                                                           "SRUN_CPUS_PER_TASK"};
  for (const auto& [name, value] : job.environment.variables) {
    if (!is_variable_name(name))
      return bad_request(
          fmt::format("environment.variables: '{}' is not a valid variable name", name),
          "letters, digits and underscores, no digit first");
    if (std::find(bash_own.begin(), bash_own.end(), name) != bash_own.end())
      return bad_request(fmt::format("environment.variables: {} belongs to bash itself", name));
    if (std::find(fatal_twice.begin(), fatal_twice.end(), name) != fatal_twice.end())
      return bad_request(fmt::format("environment.variables: {} contradicts srun's option", name),
                         "use resources.cpus_per_rank");
  }
  return Ok{};
}

Result<Ok> check_signal(const Job& job) {
  const auto& name = job.recovery.signal;
  const bool word = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
  if (!word)
    return bad_request(fmt::format("recovery.signal: '{}' is not a signal name", name),
                       "write it as USR1 or USR2");
  return Ok{};
}

bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
}

/// Command lines and files cannot contain a NUL. A line break would end an #SBATCH line; other
/// invisible separators are refused too.
Result<Ok> check_texts(const LaunchPlan& plan) {
  const auto refuse = [](const std::string& what, std::string_view holds) {
    return bad_request(fmt::format("{} holds {}", what, holds), "remove it");
  };
  constexpr std::string_view nul = "a NUL character";
  const auto start = plan.start.argv();
  if (std::any_of(start.begin(), start.end(), has_nul)) return refuse("the command", nul);
  for (const auto& [name, value] : plan.environment)
    if (has_nul(value)) return refuse("environment.variables: " + name, nul);
  if (std::any_of(plan.modules.begin(), plan.modules.end(), has_nul))
    return refuse("environment.modules", nul);
  for (const auto* text : {&plan.activate, &plan.setup, &plan.paths.work_dir})
    if (has_nul(*text)) return refuse("environment", nul);
  if (std::any_of(plan.stage.sources.begin(), plan.stage.sources.end(), has_nul))
    return refuse("stage", nul);
  constexpr std::string_view control = "a line break or another control character";
  for (const auto& [option, value] : plan.sbatch)
    if (has_control(value)) return refuse("sbatch's " + option, control);
  if (std::any_of(plan.sbatch_extra.begin(), plan.sbatch_extra.end(), has_control))
    return refuse("resources.sbatch_extra", control);
  return Ok{};
}

/// The text of train.json, the trainer's only input: its own block, and what it needs of the rest.
std::string train_document(const Job& job) {
  Json document = {{"name", job.name}, {"device", job.resources.device}};
  document.update(job.train);
  document["runtime"] = job.runtime;
  // Ranks read it in DLLAUNCH_TRANSPORT, as their shims do.
  if (job.runtime.is_object()) document["runtime"].erase("transport");
  if (job.recovery.signal != "USR2") document["stop_signal"] = job.recovery.signal;
  return json_text(document);
}

/// On fewer nodes a step keeps its images.
void fix_global_batch(LaunchPlan& plan) {
  if (plan.train_json.empty() || !plan.recovery.elastic()) return;
  auto document = Json::parse(plan.train_json);
  const auto batch = value_at<std::optional<std::int64_t>>(document, "batch_size");
  if (!batch || value_at<std::optional<std::int64_t>>(document, "global_batch")) return;
  document["global_batch"] =
      *batch * value_at<std::int64_t>(document, "accumulate", 1) * plan.ranks();
  plan.train_json = json_text(document);
}

/// Commands not declared restartable are left to Slurm. Commands without a declared stall limit
/// never count as stalled.
RecoveryPlan recovery_of(const Job& job) {
  RecoveryPlan recovery{.autopsy = job.recovery.autopsy, .avoid = job.recovery.avoid};
  if (trains(job) || job.recovery.written) {
    recovery.max_restarts = job.recovery.max_restarts;
    recovery.requeue_on = job.recovery.requeue_on;
    recovery.preflight = job.recovery.preflight;
    recovery.spare_nodes = job.recovery.spare_nodes;
    recovery.min_nodes = std::min(job.recovery.min_nodes, job.resources.nodes);
    const auto hold = parse_slurm_seconds(job.recovery.hold_on_error.value_or(""));
    recovery.hold_seconds = static_cast<double>(hold.value_or(0));
  }
  const auto limit = job.runtime.find("stall_abort_seconds");
  const bool looks = trains(job) || job.stall_abort_written;
  if (looks && limit != job.runtime.end() && limit->is_number())
    recovery.stall_abort_seconds = limit->get<double>();
  return recovery;
}

/// The user's choice of cluster wins, but a mismatch causes a warning.
void warn_of_another_cluster(const Facts& facts, LaunchPlan& plan) {
  if (facts.from_profile || profile_match(*facts.profile, facts) == ProfileMatch::alike) return;
  plan.warnings.push_back(
      fmt::format("the Slurm here does not look like {} ({}): its own partitions and nodes count",
                  facts.profile->name, unlike_words(*facts.profile, facts)));
}

/// Whether the trainer supports the job's GPUs.
bool trainer_drives(const Job& job, const LaunchPlan& plan) {
  return drives_gpus_of(plan.topology, trainer_gpus(job, plan.paths));
}

std::string lacking(const Paths& paths) {
  if (paths.trainer_gpus.empty()) return "no GPU backend";
  return fmt::format("no backend for such GPUs, only for {}", fmt::join(paths.trainer_gpus, ", "));
}

}  // namespace

bool trains(const Job& job) {
  return !job.train.is_null();
}

std::string task_dir(const LaunchPlan& plan) {
  return plan.paths.run_dir + (plan.array ? "/task-%a" : "");
}

std::string task_pattern(const LaunchPlan& plan) {
  return escape_file_pattern(plan.paths.run_dir) + (plan.array ? "/task-%a" : "");
}

Variables exported(const JobEnvironment& job, Variables defaults) {
  for (const auto& wanted : job.variables) {
    const auto same = std::find_if(defaults.begin(), defaults.end(), [&wanted](const auto& ours) {
      return ours.first == wanted.first;
    });
    if (same == defaults.end())
      defaults.push_back(wanted);
    else
      same->second = wanted.second;
  }
  std::erase_if(defaults, [&job](const auto& ours) {
    return std::find(job.left_alone.begin(), job.left_alone.end(), ours.first) !=
           job.left_alone.end();
  });
  return defaults;
}

LaunchPlan begin_plan(const Job& job, const Paths& paths) {
  LaunchPlan plan;
  plan.name = job.name;
  plan.nodes = job.resources.nodes;
  plan.paths = paths;
  plan.cluster = job.cluster;
  plan.framework = job.framework;
  plan.container = job.environment.container;
  plan.share = job.share;
  plan.stage = plan_stage(job.stage, plan.nodes, paths.work_dir);
  plan.after = job.after;
  plan.array = job.array;
  if (trains(job)) {
    plan.start.program = {paths.dltrain, "--config", task_dir(plan) + "/train.json"};
    if (plan.stage.wanted())
      plan.start.program = {plan.stage.programs ? staged_program(paths.dltrain) : paths.dltrain,
                            "--config", std::string(staged_train_json), "--run-dir",
                            task_dir(plan)};
    plan.train_json = train_document(job);
  } else {
    plan.start.program = job.run_command;
  }
  // CUDA orders GPUs by speed by default; placements and diagrams use PCI order.
  Variables defaults = {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}};
  if (const auto transport = wanted_transport(job); transport != "auto")
    defaults.emplace_back(transport_variable, transport);
  plan.environment = exported(job.environment, std::move(defaults));
  plan.left_alone = job.environment.left_alone;
  plan.modules = job.environment.modules;
  plan.activate = job.environment.activate.value_or("");
  plan.setup = job.environment.setup.value_or("");
  plan.signal = job.recovery.signal;
  plan.network_order = job.binding.network_order;
  plan.asks_ranks = trains(job) || job.recovery.written;
  plan.grace_seconds = job.recovery.grace_seconds;
  plan.recovery = recovery_of(job);
  return plan;
}

std::vector<std::string> trainer_gpus(const Job& job, const Paths& paths) {
  auto devices = paths.trainer_gpus;
  const auto& wanted = job.resources.device;
  if (wanted != "auto") std::erase_if(devices, [&](const auto& one) { return one != wanted; });
  return devices;
}

void leave_out_spare_nodes(std::string_view why, LaunchPlan& plan) {
  const auto leave_out = [&](int& nodes, const char* key) {
    if (std::exchange(nodes, 0) != 0)
      plan.warnings.push_back(fmt::format("recovery.{} has no effect: {}", key, why));
  };
  leave_out(plan.recovery.spare_nodes, "spare_nodes");
  leave_out(plan.recovery.min_nodes, "min_nodes");
}

void leave_out_hold(std::string_view why, LaunchPlan& plan) {
  if (std::exchange(plan.recovery.hold_seconds, 0) != 0)
    plan.warnings.push_back(fmt::format("recovery.hold_on_error has no effect: {}", why));
}

Result<int> gpus_to_use(const Job& job, int have, std::string_view where, LaunchPlan& plan) {
  const auto& device = job.resources.device;
  const auto asked = job.resources.gpus_per_node;
  if (device == "cpu") {
    if (asked.value_or(0) > 0)
      return bad_request(
          fmt::format("asked for {} per node, but device is cpu", counted(*asked, "GPU")),
          "leave out resources.gpus_per_node, or set resources.device: auto");
    return 0;
  }
  if (trains(job) && !trainer_drives(job, plan)) {
    const auto lacks = fmt::format("the trainer of this build has {}", lacking(plan.paths));
    if (device != "auto" || asked.value_or(0) > 0)
      return Error{ErrorKind::unavailable,
                   fmt::format("asked for {}, but {}",
                               device == "auto" ? "GPUs" : "device " + device, lacks),
                   "set resources.device: cpu, or start a trainer of your own with run:"};
    if (have > 0)
      plan.warnings.push_back(
          fmt::format("{} of {} stay idle: {}", counted(have, "GPU"), where, lacks));
    return 0;
  }
  if (device != "auto" && have == 0)
    return Error{ErrorKind::unavailable,
                 fmt::format("asked for device {}, but {} has no such GPU", device, where),
                 "set resources.device: cpu, or name another resources.partition"};
  if (asked && *asked > have)
    return Error{ErrorKind::unsatisfiable,
                 fmt::format("asked for {} per node, {} {} {}", counted(*asked, "GPU"), where,
                             where.starts_with("nodes") ? "have" : "has", have),
                 fmt::format("use --set resources.gpus_per_node={}", have)};
  return asked.value_or(have);
}

Result<Ok> place(const Job& job, int gpus, LaunchPlan& plan) {
  const auto& binding = job.binding;
  plan.request = {.ranks = job.resources.ranks_per_node.value_or(0),
                  .gpus = gpus,
                  .cores_per_rank = job.resources.cpus_per_rank.value_or(0),
                  .policy = binding.policy,
                  .mode = binding.mode,
                  .cores = binding.cores,
                  .order = binding.order,
                  .smt = binding.smt,
                  .reserve = binding.reserve == "auto" ? plan.origin.reserve : binding.reserve,
                  .masks = binding.masks};
  if (binding.policy == BindPolicy::explicit_masks && plan.request.ranks == 0)
    plan.request.ranks = static_cast<int>(binding.masks.size());
  auto placement = place_ranks(plan.topology, plan.request);
  if (!placement) return std::move(placement).error().within("placement");
  plan.placement = *std::move(placement);
  plan.ranks_per_node = static_cast<int>(plan.placement.ranks.size());
  const bool several = std::ranges::any_of(
      plan.placement.ranks, [](const RankPlacement& rank) { return rank.gpus.size() > 1; });
  if (trains(job) && several)
    plan.warnings.emplace_back(
        "a rank of the built-in trainer drives one GPU, its others stay idle: leave out "
        "resources.ranks_per_node");
  const auto cpus = (plan.topology.allowed_cpus & plan.topology.cpus()).size();
  if (plan.ranks_per_node > cpus)
    plan.warnings.push_back(fmt::format("{} on {}: CPUs are oversubscribed; expect a slowdown",
                                        counted(plan.ranks_per_node, "rank"),
                                        counted(cpus, "CPU")));
  plan.warnings.insert(plan.warnings.end(), plan.placement.warnings.begin(),
                       plan.placement.warnings.end());
  return Ok{};
}

std::string idle_words(const Placement& placement) {
  return placement.idle + "; binding.cores: fill assigns them after the near ones";
}

std::vector<std::string> shim(const LaunchPlan& plan) {
  const auto& own = plan.paths.dllaunch;
  std::vector<std::string> argv = {plan.stage.programs ? staged_program(own) : own, "exec",
                                   "--run-dir", task_dir(plan)};
  if (plan.pyxis) {
    const auto there = container_shim(plan);
    argv[0] = there + "/dllaunch";
    argv.insert(argv.begin(), {there + "/ld.so", "--library-path", there});
  }
  if (!plan.paths.files.empty()) argv.insert(argv.end(), {"--files", plan.paths.files});
  if (plan.ranks() > max_rank_logs) argv.emplace_back("--no-log");
  if (plan.stage.wanted()) argv.emplace_back("--staged");
  // On other schedulers users may change plan.json, so nothing must depend on it.
  if (plan.scheduler != "Slurm" && plan.train_json.empty())
    argv.insert(argv.end(), {"--framework", plan.framework});
  argv.emplace_back("--");
  return argv;
}

bool tells_ranks_nothing(const LaunchPlan& plan) {
  return plan.scheduler != "Slurm" && plan.start.kind() == Starter::aprun;
}

Result<LaunchPlan> plan(const Job& job, const Facts& facts, const Paths& paths, bool local) {
  if (auto good = check_variables(job); !good)
    return std::move(good).error().with_id("environment");
  if (auto good = check_signal(job); !good) return std::move(good).error();
  if (auto good = check_transport(job); !good) return std::move(good).error();
  const bool by_slurm = facts.slurm && !local;
  const bool known = by_slurm && facts.profile;
  auto made = known      ? plan_slurm(with_profile(job, *facts.profile), facts, paths)
              : by_slurm ? plan_slurm(job, facts, paths)
                         : plan_local(job, facts, paths);
  if (!made) return made;
  fix_global_batch(*made);
  if (auto stages = pipeline_of(*made); !stages) return std::move(stages).error();
  if (known) {
    warn_of_another_cluster(facts, *made);
    finish_plan(job, *facts.profile, *made);
  }
  if (made->scheduler == "Slurm") name_transport(job, facts, *made);
  if (auto good = check_texts(*made); !good) return std::move(good).error().with_id("environment");
  if (auto good = check_stage(made->stage); !good) return std::move(good).error().with_id("stage");
  return made;
}

}  // namespace dllaunch

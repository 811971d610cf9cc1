// Rules for how ranks get their GPUs, and how they reach the others.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "launcher/base/utf8.hpp"
#include "launcher/lint/rule.hpp"

namespace dllaunch::lint {
namespace {

constexpr std::string_view cost =
    "each rank sees only its own GPU, so NVLink, P2P copies and IPC between the ranks of a node "
    "are silently off";

bool says_tasks(const ParsedOptions& options) {
  constexpr std::array<std::string_view, 4> counts = {"ntasks", "ntasks-per-node", "ntasks-per-gpu",
                                                      "gpus"};
  return std::ranges::any_of(
      counts, [&](std::string_view name) { return last_option(options, name) != nullptr; });
}

/// Whether the number of tasks is given; Slurm's default is one per node.
bool says_tasks(const Script& script) {
  return says_tasks(script.directives.parsed) ||
         std::ranges::any_of(script.launches,
                             [](const Launch& launch) { return says_tasks(launch.options); });
}

bool one_task_a_node(const Request& request) {
  return request.tasks_per_node() == 1;
}

/// The value without a leading "verbose,".
std::string binding_of(const GivenOption& option) {
  std::string value = option.value.bytes();
  for (const std::string_view prefix : {"verbose,", "v,", "quiet,", "q,"}) {
    if (value.starts_with(prefix)) value = value.substr(prefix.size());
  }
  return value;
}

bool hides(const std::string& binding) {
  return binding.starts_with("single") || binding.starts_with("per_task") ||
         binding.starts_with("closest") || binding.starts_with("map") ||
         binding.starts_with("mask");
}

bool unbound(const Script& script, const Launch* launch) {
  const GivenOption* option = launch ? last_option(launch->options, "gpu-bind") : nullptr;
  if (option == nullptr) option = script.directive("gpu-bind");
  return option != nullptr && binding_of(*option) == "none";
}

std::string gpus_instead(const Request& request, const GivenOption& option) {
  const long each = gpu_count(option.value);
  const long tasks = request.tasks_per_node();
  return each > 0 && tasks > 0 ? "--gpus-per-node=" + std::to_string(each * tasks) : "";
}

void check_directives(const Script& script, Report& report) {
  if (one_task_a_node(script.request)) return;
  if (const GivenOption* option = script.directive("gpus-per-task");
      option && !unbound(script, nullptr)) {
    const std::string instead = gpus_instead(script.request, *option);
    const bool given = script.directive("gpus-per-node") != nullptr;
    std::vector<Edit> edits;
    if (given) {
      edits.push_back(remove_directive(script, *option));
    } else if (!instead.empty()) {
      if (auto edit = replace_option(script.directives.words, *option, instead))
        edits.push_back(*edit);
    }
    report.add(script.at(*option),
               fmt::format("--gpus-per-task={}: {}", option->value.bytes(), cost),
               given             ? "remove it: --gpus-per-node is already set"
               : instead.empty() ? "write --gpus-per-node=N"
                                 : "write " + instead,
               std::move(edits));
  }
  if (const GivenOption* option = script.directive("gpu-bind");
      option && hides(binding_of(*option))) {
    report.add(script.at(*option), fmt::format("--gpu-bind={}: {}", option->value.bytes(), cost),
               "remove it; the rank picks its device by SLURM_LOCALID",
               {remove_directive(script, *option)});
  }
}

void check_hidden(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  if (!says_tasks(script)) return;
  check_directives(script, report);
  for (const Launch& launch : script.launches) {
    if (launch.program != "srun" || !does_work(script, launch) || report.full()) continue;
    const Request step = step_request(script, launch);
    if (one_task_a_node(step) || step.tasks() == 1) continue;
    if (const GivenOption* option = last_option(launch.options, "gpus-per-task");
        option && !unbound(script, &launch)) {
      const bool given = script.directive("gpus-per-node") || script.directive("gres") ||
                         last_option(launch.options, "gpus-per-node");
      const std::string instead = gpus_instead(step, *option);
      std::vector<Edit> edits;
      if (given) {
        if (auto edit = remove_step_option(script, launch, *option)) edits.push_back(*edit);
      } else if (!instead.empty()) {
        if (auto edit = replace_option(launch.arguments, *option, instead)) edits.push_back(*edit);
      }
      report.add(launch.arguments[option->word].source(option->at),
                 fmt::format("--gpus-per-task={}: {}", option->value.bytes(), cost),
                 given             ? "remove it: the job already asks for GPUs per node"
                 : instead.empty() ? "write --gpus-per-node=N"
                                   : "write " + instead,
                 std::move(edits));
    }
    const GivenOption* option = last_option(launch.options, "gpu-bind");
    if (option == nullptr || !hides(binding_of(*option))) continue;
    std::vector<Edit> edits;
    if (auto edit = remove_step_option(script, launch, *option)) edits.push_back(*edit);
    report.add(launch.arguments[option->word].source(option->at),
               fmt::format("--gpu-bind={}: {}", option->value.bytes(), cost),
               "remove it; the rank picks its device by SLURM_LOCALID", std::move(edits));
  }
}

void check_none_shared(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  if (script.request.exclusive) return;
  const auto say = [&](std::size_t at) {
    report.add(at,
               "--gpu-bind=none unsets every VISIBLE_DEVICES variable: on a node shared with other "
               "jobs the ranks see other people's GPUs, too",
               "remove it, or add #SBATCH --exclusive");
  };
  if (const GivenOption* option = script.directive("gpu-bind");
      option && binding_of(*option) == "none")
    say(script.at(*option));
  for (const Launch& launch : script.launches) {
    const GivenOption* option = last_option(launch.options, "gpu-bind");
    if (option && binding_of(*option) == "none" && !report.full()) {
      say(launch.arguments[option->word].source(option->at));
    }
  }
}

bool selects_devices(const std::string& name) {
  return name == "CUDA_VISIBLE_DEVICES" || name == "ROCR_VISIBLE_DEVICES" ||
         name == "HIP_VISIBLE_DEVICES" || name == "ZE_AFFINITY_MASK";
}

void check_per_rank(const Subject& subject, Report& report) {
  if (one_task_a_node(subject.script.request)) return;
  static const std::array<std::string_view, 8> ranks = {
      "SLURM_LOCALID", "SLURM_PROCID",   "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
      "LOCAL_RANK",    "PMI_LOCAL_RANK", "PALS_LOCAL_RANKID",          "MV2_COMM_WORLD_LOCAL_RANK"};
  for (const Assigned& assigned : subject.script.run.assignments) {
    if (!selects_devices(assigned.name) || report.full()) continue;
    const auto& marks = assigned.value.marks();
    const bool by_rank = std::ranges::any_of(marks, [](const Text::Mark& mark) {
      return std::ranges::find(ranks, mark.name) != ranks.end();
    });
    if (!by_rank) continue;
    report.add(assigned.begin, fmt::format("{} set per rank: {}", assigned.name, cost),
               "remove it; the rank picks its device by SLURM_LOCALID");
  }
}

void check_clash(const Subject& subject, Report& report) {
  const Assigned* rocr = nullptr;
  const Assigned* other = nullptr;
  for (const Assigned& assigned : subject.script.run.assignments) {
    if (!assigned.exported && !assigned.per_rank) continue;
    if (assigned.name == "ROCR_VISIBLE_DEVICES") rocr = &assigned;
    if (assigned.name == "CUDA_VISIBLE_DEVICES" || assigned.name == "HIP_VISIBLE_DEVICES") {
      other = &assigned;
    }
  }
  if (rocr == nullptr || other == nullptr) return;
  const Assigned* later = rocr->begin > other->begin ? rocr : other;
  report.add(
      later->begin,
      fmt::format("ROCR_VISIBLE_DEVICES and {} are both set: the second selects among what the "
                  "first left, so ranks find the wrong GPU or none",
                  other->name),
      "set one of them, or neither");
}

constexpr Rule gpu_table[] = {
    {"gpus-hidden", Severity::warning,
     "`--gpus-per-task` or `--gpu-bind=closest|single|per_task|map_gpu|mask_gpu`: ranks cannot see "
     "each other's GPUs.",
     check_hidden},
    {"gpu-bind-none", Severity::warning,
     "`--gpu-bind=none` without `--exclusive`: ranks see other jobs' GPUs.", check_none_shared},
    {"visible-per-rank", Severity::warning,
     "`CUDA_`, `ROCR_` or `HIP_VISIBLE_DEVICES` set from the rank's number.", check_per_rank},
    {"visible-clash", Severity::warning,
     "`ROCR_VISIBLE_DEVICES` together with `CUDA_` or `HIP_VISIBLE_DEVICES`.", check_clash},
};

}  // namespace

std::span<const Rule> gpu_rules() {
  return gpu_table;
}

}  // namespace dllaunch::lint

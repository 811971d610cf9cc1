// Rules for how ranks get their GPUs, and how they reach the others.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "launcher/base/utf8.hpp"
#include "launcher/lint/rule.hpp"
#include "launcher/slurm/gres.hpp"

namespace dllaunch::lint {
namespace {

constexpr std::string_view cost =
    "each rank sees only its own GPU, so NVLink, P2P copies and IPC between the ranks of a node "
    "are silently off";

bool says_tasks(const ParsedOptions& options) {
  constexpr std::array<std::string_view, 5> counts = {"ntasks", "ntasks-per-node", "ntasks-per-gpu",
                                                      "ntasks-per-socket", "gpus"};
  return std::ranges::any_of(
      counts, [&](std::string_view name) { return last_option(options, name) != nullptr; });
}

/// Whether the number of tasks is given; Slurm's default is one per node.
bool says_tasks(const Script& script) {
  return says_tasks(script.directives.parsed) ||
         std::ranges::any_of(script.launches,
                             [](const Launch& launch) { return says_tasks(launch.options); });
}

bool one_task_a_node(const SlurmRequest& request) {
  return request.tasks_per_node() == 1;
}

std::string gpus_instead(const SlurmRequest& request, const GivenOption& option) {
  const long each = gpu_count(option.value.bytes());
  const long tasks = request.tasks_per_node();
  return each > 0 && tasks > 0 ? "--gpus-per-node=" + std::to_string(each * tasks) : "";
}

/// What is written in the place of an option that hides GPUs.
struct Remedy {
  std::string fix = {};
  std::string instead = {};  // of the option; empty: it is removed, if `certain`
  bool certain = false;
};

/// `counted`: whether other options give the job its GPUs.
Remedy remedy_for(const GivenOption& option, const SlurmRequest& request, bool counted) {
  if (option.name == "ntasks-per-gpu")
    return {.fix = "write --gpu-bind=none too, or --ntasks-per-node=N in its place"};
  if (option.name == "tres-per-task")
    return {.fix = "write --gpus-per-node=N and --cpus-per-task=N in its place"};
  if (option.name != "gpus-per-task")
    return {.fix = "remove it; the rank picks its device by SLURM_LOCALID", .certain = true};
  if (counted) return {.fix = "remove it: --gpus-per-node is already set", .certain = true};
  const std::string instead = gpus_instead(request, option);
  return {.fix = instead.empty() ? "write --gpus-per-node=N" : "write " + instead,
          .instead = instead,
          .certain = !instead.empty()};
}

std::string hides_words(const GivenOption& option) {
  return fmt::format("--{}={}: {}", option.name, option.value.bytes(), cost);
}

/// The last options of their names that hide GPUs, if none unbinds the ranks.
std::vector<const GivenOption*> hiding(const ParsedOptions& parsed) {
  std::vector<const GivenOption*> found;
  for (const GivenOption& option : parsed.options) {
    if (unbinds(option)) return {};
    if (last_option(parsed, option.name) == &option &&
        hides_gpus(option.name, option.value.bytes()))
      found.push_back(&option);
  }
  return found;
}

void check_directives(const Script& script, Report& report) {
  if (one_task_a_node(script.request)) return;
  const bool counted = script.directive("gpus-per-node") != nullptr;
  for (const GivenOption* option : hiding(script.directives.parsed)) {
    const Remedy remedy = remedy_for(*option, script.request, counted);
    std::vector<Edit> edits;
    if (remedy.certain && remedy.instead.empty())
      edits.push_back(remove_directive(script, *option));
    else if (remedy.certain)
      if (auto edit = replace_option(script.directives.words, *option, remedy.instead))
        edits.push_back(*edit);
    report.add(script.at(*option), hides_words(*option), remedy.fix, std::move(edits));
  }
}

/// What srun inherits, unless its own options bind the ranks.
void check_inherited(const Launch& launch, Report& report) {
  for (const auto& [variable, option] :
       {std::pair("SLURM_GPU_BIND", "gpu-bind"), std::pair("SLURM_TRES_BIND", "tres-bind")}) {
    const auto inherited = launch.command->environment.find(variable);
    if (inherited == launch.command->environment.end() ||
        last_option(launch.options, option) != nullptr)
      continue;
    const Text& value = inherited->second->text;
    if (hides_gpus(option, value.bytes()))
      report.add(value.source(0), fmt::format("{}={}: {}", variable, value.bytes(), cost),
                 "remove it; the rank picks its device by SLURM_LOCALID");
  }
}

void check_hidden(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  if (!says_tasks(script)) return;
  const bool step_unbinds = std::ranges::any_of(script.launches, [](const Launch& launch) {
    return std::ranges::any_of(launch.options.options, unbinds);
  });
  if (!step_unbinds) check_directives(script, report);
  for (const Launch& launch : script.launches) {
    if (launch.program != "srun" || !does_work(script, launch) || report.full()) continue;
    const SlurmRequest step = step_request(script, launch);
    if (one_task_a_node(step) || step.tasks() == 1) continue;
    check_inherited(launch, report);
    const auto& directives = script.directives.parsed.options;
    if (std::ranges::any_of(directives, unbinds) &&
        last_option(launch.options, "gpu-bind") == nullptr)
      continue;
    const bool counted = script.directive("gpus-per-node") || script.directive("gres") ||
                         last_option(launch.options, "gpus-per-node");
    for (const GivenOption* option : hiding(launch.options)) {
      const Remedy remedy = remedy_for(*option, step, counted);
      std::optional<Edit> edit;
      if (remedy.certain)
        edit = remedy.instead.empty() ? remove_step_option(script, launch, *option)
                                      : replace_option(launch.arguments, *option, remedy.instead);
      report.add(launch.arguments[option->word].source(option->at), hides_words(*option),
                 remedy.fix, edit ? std::vector{*edit} : std::vector<Edit>{});
    }
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
  if (const GivenOption* option = script.directive("gpu-bind"); option && unbinds(*option))
    say(script.at(*option));
  for (const Launch& launch : script.launches) {
    const GivenOption* option = last_option(launch.options, "gpu-bind");
    if (option && unbinds(*option) && !report.full()) {
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
    // $((3-SLURM_LOCALID)) reads it too.
    const auto& read = subject.script.run.read;
    const auto& marks = assigned.value.marks();
    const bool by_rank = std::ranges::any_of(ranks, [&](std::string_view name) {
      if (std::ranges::find(marks, name, &Text::Mark::name) != marks.end()) return true;
      const auto places = read.find(std::string(name));
      return places != read.end() && std::ranges::any_of(places->second, [&](std::size_t at) {
               return assigned.begin <= at && at < assigned.end;
             });
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

/// CUDA opens one slice in a process, and NCCL connects none.
void check_slices(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  for (const char* name : {"gres", "gpus-per-node", "gpus", "gpus-per-task"}) {
    const GivenOption* option = script.directive(name);
    if (option == nullptr || report.full()) continue;
    const std::string& value = option->value.bytes();
    const auto kinds = read_gres(name == std::string_view("gres") ? value : "gpu:" + value);
    int slices = 0;
    for (const GpuGres& kind : kinds) slices += is_gpu_slice(kind.type) ? kind.count : 0;
    if (slices < 2) continue;
    report.add(script.at(*option),
               fmt::format("--{}={} asks for {} MIG slices: a process sees one of them, and NCCL "
                           "joins none (\"invalid usage\")",
                           name, value, slices),
               "ask for one slice a job, or for whole GPUs");
  }
}

constexpr Rule gpu_table[] = {
    {"gpus-hidden", Severity::warning,
     "`--gpus-per-task`, `--ntasks-per-gpu`, `--accel-bind=g`, GPUs in `--tres-per-task`, or "
     "`--gpu-bind` and `--tres-bind` but `none`: ranks cannot see each other's GPUs.",
     check_hidden},
    {"gpu-bind-none", Severity::warning,
     "`--gpu-bind=none` without `--exclusive`: ranks see other jobs' GPUs.", check_none_shared},
    {"visible-per-rank", Severity::warning,
     "`CUDA_`, `ROCR_` or `HIP_VISIBLE_DEVICES` set from the rank's number.", check_per_rank},
    {"visible-clash", Severity::warning,
     "`ROCR_VISIBLE_DEVICES` together with `CUDA_` or `HIP_VISIBLE_DEVICES`.", check_clash},
    {"mig-slices", Severity::warning, "Several MIG slices in a job: no process sees two of them.",
     check_slices},
};

}  // namespace

bool unbinds(const GivenOption& option) {
  return (option.name == "gpu-bind" || option.name == "tres-bind") &&
         option.value.bytes().ends_with("none");
}

std::span<const Rule> gpu_rules() {
  return gpu_table;
}

}  // namespace dllaunch::lint

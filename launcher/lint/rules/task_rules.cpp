// Rules for tasks, their CPUs, and how they are started.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "launcher/base/utf8.hpp"
#include "launcher/lint/bash/programs.hpp"
#include "launcher/lint/rule.hpp"

namespace dllaunch::lint {
namespace {

std::size_t begin_of(const Launch& launch) {
  return launch.command->words[launch.begin].source(0);
}

bool is_step(const Launch& launch) {
  return launch.program == "srun" && !launch.command->per_rank;
}

void check_tasks_nodes(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  const SlurmRequest& job = script.request;
  if (script.directive("ntasks") == nullptr || script.directive("nodes") == nullptr ||
      script.directive("ntasks-per-node") == nullptr) {
    return;
  }
  if (job.nodes < 1 || job.ntasks < 1 || job.ntasks_per_node < 1) return;
  const long product = job.nodes * job.ntasks_per_node;
  if (product == job.ntasks) return;
  report.add(script.at(*script.directive("ntasks")),
             fmt::format("--nodes={} x --ntasks-per-node={} is {} tasks, --ntasks says {}: Slurm "
                         "follows --ntasks, and nodes get uneven shares",
                         job.nodes, job.ntasks_per_node, product, job.ntasks),
             fmt::format("remove --ntasks, or write --ntasks={}", product));
}

/// Whether the script shows that ranks share a GPU on purpose, without NCCL between them.
bool shares_gpus(const Script& script, const Launch& launch) {
  const GivenOption* bind = last_option(launch.options, "gpu-bind");
  if (bind == nullptr) bind = script.directive("gpu-bind");
  return (bind != nullptr && unbinds(*bind)) ||
         std::ranges::any_of(script.run.assigned, [](const std::string& name) {
           return name.starts_with("XLA_PYTHON_CLIENT_") || name.starts_with("CUDA_MPS_");
         });
}

/// The ranks of mpirun's -np; -1: unknown, or it starts no Python program.
long ranks_of_mpirun(const Launch& launch) {
  const auto& words = launch.arguments;
  const auto program =
      std::ranges::find_if(words, [](const Text& word) { return is_python(base_name(word)); });
  if (program == words.end()) return -1;
  for (auto word = words.begin(); word + 1 < program; ++word) {
    const std::string& option = word->bytes();
    if (option == "-np" || option == "--np" || option == "-n") return number_of(*(word + 1));
  }
  return -1;
}

/// The ranks of a node that work; -1: unknown.
long ranks_per_node(const Subject& subject, const Launch& launch) {
  const Script& script = subject.script;
  if (is_mpirun(launch.program)) {
    const long ranks = ranks_of_mpirun(launch);
    const long nodes = script.request.nodes;
    return ranks > 0 && nodes > 0 ? (ranks + nodes - 1) / nodes : -1;
  }
  if (!is_step(launch) || !does_work(script, launch) || may_start_workers(script, launch))
    return -1;
  const SlurmRequest step = step_request(script, launch);
  return step.gpus_per_task > 0 ? -1 : step.tasks_per_node();
}

void check_tasks_gpus(const Subject& subject, Report& report) {
  for (const Launch& launch : subject.script.launches) {
    const long tasks = ranks_per_node(subject, launch);
    const long gpus = subject.script.request.node_gpus();
    if (tasks < 1 || gpus < 1 || tasks <= gpus) continue;
    const bool on_purpose = shares_gpus(subject.script, launch);
    const long all = gpus * subject.script.request.nodes;
    const auto fewer = is_mpirun(launch.program) ? fmt::format("-np {}", all)
                                                 : fmt::format("--ntasks-per-node={}", gpus);
    Finding& finding = report.add(
        begin_of(launch),
        fmt::format("{} tasks per node, but {} GPU{}: ranks share a GPU, which NCCL refuses "
                    "(\"Duplicate GPU detected\")",
                    tasks, gpus, gpus == 1 ? "" : "s"),
        fmt::format("write {} or --gpus-per-node={}", fewer, tasks));
    if (on_purpose) finding.severity = Severity::warning;
  }
}

void check_idle_gpus(const Subject& subject, Report& report) {
  for (const Launch& launch : subject.script.launches) {
    if (!is_step(launch) || !does_work(subject.script, launch)) continue;
    if (may_start_workers(subject.script, launch)) continue;
    const auto own = [&](std::string_view name) {
      return last_option(launch.options, name) != nullptr;
    };
    if (own("ntasks") || own("gpus") || own("gpus-per-node") || own("gpus-per-task") || own("gres"))
      continue;
    const SlurmRequest step = step_request(subject.script, launch);
    const long tasks = step.tasks_per_node();
    const long gpus = step.node_gpus();
    if (tasks < 1 || gpus < 1 || tasks >= gpus || step.gpus_per_task > 0) continue;
    // One process may also use every GPU; only its arguments tell.
    const bool one_drives_all =
        tasks == 1 && gpus > 1 && subject.script.directive("ntasks-per-node");
    if (one_drives_all && launch.command->per_rank) continue;
    report.add(
        begin_of(launch),
        fmt::format("{} task{} per node for {} GPUs: with one rank per GPU, {} GPU{} idle", tasks,
                    tasks == 1 ? "" : "s", gpus, gpus - tasks,
                    gpus - tasks == 1 ? " stays" : "s stay"),
        fmt::format("write --ntasks-per-node={} (or start the workers with torchrun)", gpus));
  }
}

bool is_training(const RanCommand& command) {
  const std::size_t program = skip_wrappers(command.words, 0);
  if (program >= command.words.size()) return false;
  const std::string name = base_name(command.words[program]);
  if (is_python(name)) {
    // python -c "import torch; print(...)", python -m venv: not training.
    const bool module = program + 1 < command.words.size() &&
                        command.words[program + 1].bytes().starts_with("-") &&
                        !starts_workers(command.words);
    return !module || command.words[program + 1].bytes() == "-u";
  }
  return name == "torchrun" || name == "accelerate" || name == "singularity" ||
         name == "apptainer" || command.words[program].bytes().starts_with("./");
}

/// Without srun a command runs once, on the first node.
void check_no_srun(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  const SlurmRequest& job = script.request;
  const bool spread = std::ranges::any_of(script.launches, [](const Launch& launch) {
    return launch.program == "srun" || is_mpirun(launch.program) ||
           launch.program == "horovodrun" || launch.program == "deepspeed" ||
           launch.program == "jsrun" || launch.program == "aprun" || launch.program == "ibrun" ||
           launch.program == "dllaunch" || launch.program == "parallel";
  });
  if (spread) return;
  const RanCommand* last = nullptr;
  for (const RanCommand& command : script.run.commands) {
    if (is_training(command) && !command.in_function_unseen) last = &command;
  }
  if (last == nullptr) return;
  const std::size_t at = last->words[0].source(0);
  if (starts_workers(last->words)) {
    if (job.nodes < 2) return;
    report.add(at,
               fmt::format("without srun this runs on the first of {} nodes only: it waits for the "
                           "others, which never start, until it times out",
                           job.nodes),
               "write srun --ntasks-per-node=1 in front of it");
    return;
  }
  if (job.tasks() < 2) return;
  report.add(
      at,
      fmt::format("without srun this runs once, on the first node, although the job asks for "
                  "{} tasks",
                  job.tasks()),
      "write srun in front of it");
}

/// torchrun and the like start a node's workers themselves.
void check_torchrun(const Subject& subject, Report& report) {
  for (const Launch& launch : subject.script.launches) {
    if (!is_step(launch) || !launch.options.complete) continue;
    const std::size_t program = skip_wrappers(launch.ranks, 0);
    if (program >= launch.ranks.size()) continue;
    const std::string name = base_name(launch.ranks[program]);
    const bool starter = name == "torchrun" || (is_python(name) && starts_workers(launch.ranks));
    const long tasks = step_request(subject.script, launch).tasks_per_node();
    if (!starter || tasks < 2) continue;
    report.add(
        begin_of(launch),
        fmt::format("{} tasks per node start torchrun {} times on each node, and every one of "
                    "them starts a worker for each GPU",
                    tasks, tasks),
        "write srun --ntasks-per-node=1, or leave torchrun out");
  }
}

void check_cpus_lost(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  const GivenOption* given = script.directive("cpus-per-task");
  if (given == nullptr || script.request.cpus_per_task == 1) return;
  const std::string value = given->value.bytes();
  for (const Launch& launch : script.launches) {
    if (!is_step(launch) || !launch.options.complete || !does_work(subject.script, launch))
      continue;
    if (last_option(launch.options, "cpus-per-task") != nullptr ||
        last_option(launch.options, "cpus-per-gpu") != nullptr) {
      continue;
    }
    if (launch.command->environment.contains("SRUN_CPUS_PER_TASK")) continue;
    std::vector<Edit> edits;
    if (auto edit = add_step_option(launch, "--cpus-per-task=" + value)) edits.push_back(*edit);
    if (value.find_first_not_of("0123456789") != std::string::npos) edits.clear();
    report.add(
        begin_of(launch),
        fmt::format("srun of Slurm 22.05 to 23.02 does not take over --cpus-per-task={}: each "
                    "rank gets one CPU there",
                    value),
        "write srun --cpus-per-task=" + value, std::move(edits));
  }
}

void check_cpus_clash(const Subject& subject, Report& report) {
  const Script& script = subject.script;
  const Assigned* srun = nullptr;
  const Assigned* slurm = nullptr;
  for (const Assigned& assigned : script.run.assignments) {
    if (assigned.name == "SRUN_CPUS_PER_TASK") srun = &assigned;
    if (assigned.name == "SLURM_CPUS_PER_TASK") slurm = &assigned;
  }
  if (srun == nullptr || !srun->exported) return;
  const long own = number_of(srun->value);
  const long other = slurm != nullptr ? number_of(slurm->value) : script.request.cpus_per_task;
  if (own < 1 || other < 1 || own == other) return;
  report.add(
      srun->begin,
      fmt::format("SRUN_CPUS_PER_TASK={} contradicts SLURM_CPUS_PER_TASK={}, which {}: newer "
                  "srun stops with \"set by two different environment variables\"",
                  own, other, slurm != nullptr ? "this script sets" : "--cpus-per-task sets"),
      "set neither; write srun --cpus-per-task=N");
}

void check_omp_threads(const Subject& subject, Report& report) {
  for (const Launch& launch : subject.script.launches) {
    if (!is_step(launch)) continue;
    const auto threads = launch.command->environment.find("OMP_NUM_THREADS");
    if (threads == launch.command->environment.end()) continue;
    const long wanted = number_of(threads->second->text);
    const long cpus = step_request(subject.script, launch).task_cpus();
    if (wanted < 1 || cpus < 1 || wanted <= cpus) continue;
    report.add(
        threads->second->text.source(0),
        fmt::format("OMP_NUM_THREADS={} on {} CPU{} per task: the threads wait for each other",
                    wanted, cpus, cpus == 1 ? "" : "s"),
        "write export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK, or ask for --cpus-per-task=" +
            std::to_string(wanted));
  }
}

void check_step_nodes(const Subject& subject, Report& report) {
  for (const Launch& launch : subject.script.launches) {
    if (!is_step(launch)) continue;
    const GivenOption* nodes = last_option(launch.options, "nodes");
    if (nodes == nullptr) continue;
    const long wanted = number_of(nodes->value);
    const long have = subject.script.request.nodes;
    if (wanted < 1 || have < 1 || wanted <= have || subject.script.directives.het_job != 0)
      continue;
    report.add(begin_of(launch),
               fmt::format("srun asks for {} nodes, the job has {}: srun refuses", wanted, have),
               fmt::format("write #SBATCH --nodes={}, or srun --nodes={}", wanted, have));
  }
}

void check_srun_option(const Subject& subject, Report& report) {
  for (const Launch& launch : subject.script.launches) {
    if (launch.program != "srun") continue;
    for (const OptionProblem& problem : launch.options.problems) {
      const Text& word = launch.arguments[problem.word];
      const std::size_t at = word.source(0);
      if (problem.complaint == Complaint::lacks_value) {
        report.add(at, problem.option + " of srun lacks its value",
                   "write " + problem.option + "=VALUE");
        continue;
      }
      if (problem.complaint == Complaint::takes_no_value) {
        report.add(at, problem.option + " of srun takes no value", "write " + problem.option);
        continue;
      }
      if (problem.complaint == Complaint::ambiguous) {
        report.add(at,
                   fmt::format("several options of srun begin with {}: it refuses to start",
                               in_quotes(problem.option)),
                   "write the option in full");
        continue;
      }
      const std::string nearest = nearest_slurm_option(problem.option, SlurmProgram::srun);
      std::vector<Edit> edits;
      if (!nearest.empty() && word.is_verbatim())
        edits.push_back({at, at + problem.option.size(), nearest});
      report.add(at, fmt::format("srun has no option {}", in_quotes(problem.option)),
                 nearest.empty() ? "`srun --help` lists those it has" : "write " + nearest,
                 std::move(edits));
    }
  }
}

constexpr Rule task_table[] = {
    {"tasks-nodes", Severity::warning, "`--nodes` x `--ntasks-per-node` is not `--ntasks`.",
     check_tasks_nodes},
    {"tasks-gpus", Severity::error,
     "More tasks than GPUs on a node: NCCL refuses. A warning where the script shares GPUs on "
     "purpose: `--gpu-bind=none`, `XLA_PYTHON_CLIENT_*`, `CUDA_MPS_*`.",
     check_tasks_gpus},
    {"gpus-idle", Severity::warning, "Fewer tasks than GPUs on a node, and no torchrun.",
     check_idle_gpus},
    {"no-srun", Severity::warning,
     "A job of several tasks or nodes whose program is started without srun: it runs once.",
     check_no_srun},
    {"torchrun-per-task", Severity::error, "srun starts torchrun in several tasks of a node.",
     check_torchrun},
    {"cpus-per-task-lost", Severity::warning,
     "`--cpus-per-task` in a directive, not on the srun line: lost in Slurm 22.05 to 23.02.",
     check_cpus_lost},
    {"cpus-per-task-clash", Severity::error,
     "`SRUN_CPUS_PER_TASK` and `SLURM_CPUS_PER_TASK` differ: srun 23.11 and later stops.",
     check_cpus_clash},
    {"omp-threads", Severity::warning, "`OMP_NUM_THREADS` above the CPUs of a task.",
     check_omp_threads},
    {"step-nodes", Severity::error, "srun asks for more nodes than the job has.", check_step_nodes},
    {"srun-option", Severity::error, "An option that srun does not have; names the nearest one.",
     check_srun_option},
};

}  // namespace

std::span<const Rule> task_rules() {
  return task_table;
}

}  // namespace dllaunch::lint

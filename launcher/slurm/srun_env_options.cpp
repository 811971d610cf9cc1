#include "launcher/slurm/srun_env_options.hpp"

#include <algorithm>
#include <array>

namespace dllaunch {
namespace {

// The first five never express the user's intent: srun's line has its own --cpu-bind and
// --cpus-per-task.
constexpr std::array<SrunEnvOption, 28> options = {{
    {.variable = "SLURM_CPU_BIND"},
    {.variable = "SLURM_CPU_BIND_LIST"},
    {.variable = "SLURM_CPU_BIND_TYPE"},
    {.variable = "SLURM_CPU_BIND_VERBOSE"},
    {.variable = "SLURM_CPUS_PER_TASK"},
    {.variable = "SRUN_CPUS_PER_TASK"},
    {.variable = "SLURM_TRES_PER_TASK", .option = "--tres-per-task"},
    {.variable = "SLURM_NTASKS_PER_NODE"},
    {.variable = "SLURM_NTASKS_PER_SOCKET", .option = "--ntasks-per-socket"},
    {.variable = "SLURM_NTASKS_PER_CORE", .option = "--ntasks-per-core"},
    {.variable = "SLURM_NTASKS_PER_GPU", .option = "--ntasks-per-gpu"},
    {.variable = "SLURM_NTASKS", .wanted = true},
    {.variable = "SLURM_NPROCS", .wanted = true},
    {.variable = "SLURM_GPUS", .option = "--gpus"},
    {.variable = "SLURM_GPUS_PER_NODE", .wanted = true},
    {.variable = "SLURM_GPUS_PER_TASK", .option = "--gpus-per-task"},
    {.variable = "SLURM_GPUS_PER_SOCKET", .option = "--gpus-per-socket"},
    {.variable = "SLURM_GPU_BIND", .option = "--gpu-bind"},
    {.variable = "SLURM_CPUS_PER_GPU", .option = "--cpus-per-gpu"},
    {.variable = "SLURM_MEM_PER_NODE", .wanted = true},
    {.variable = "SLURM_MEM_PER_CPU", .option = "--mem-per-cpu"},
    {.variable = "SLURM_MEM_PER_GPU", .option = "--mem-per-gpu"},
    {.variable = "SLURM_MEM_BIND", .option = "--mem-bind"},
    {.variable = "SLURM_DISTRIBUTION", .option = "--distribution"},
    {.variable = "SLURM_HINT", .option = "--hint"},
    {.variable = "SLURM_THREADS_PER_CORE", .option = "--threads-per-core"},
    {.variable = "SLURM_EXACT"},
    {.variable = "SLURM_OVERCOMMIT", .option = "--overcommit"},
}};

bool asks_for(const std::vector<std::string>& sbatch, std::string_view option) {
  return std::ranges::any_of(sbatch, [option](std::string_view given) {
    return given.substr(0, given.find_first_of("= ")) == option;
  });
}

}  // namespace

std::span<const SrunEnvOption> srun_env_options() {
  return options;
}

std::vector<std::string_view> contradicting_variables(const std::vector<std::string>& sbatch) {
  std::vector<std::string_view> names;
  for (const auto& [variable, option, wanted] : options)
    if (!wanted && (option.empty() || !asks_for(sbatch, option))) names.push_back(variable);
  return names;
}

}  // namespace dllaunch

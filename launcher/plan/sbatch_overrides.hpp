// What a job asks of Slurm elsewhere than under a key of its own: options in sbatch_extra, and the
// variables that sbatch reads.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/job/job.hpp"
#include "launcher/os/system.hpp"

namespace dllaunch {

/// "SBATCH_PARTITION" -> "gpu", those that are set.
using SbatchVariables = std::vector<std::pair<std::string, std::string>>;

/// The variables of this machine that decide what a key of the job file or a line of every script
/// of ours decides too.
SbatchVariables sbatch_variables(System& system);

/// The job with these overrides in its keys (partition, account, qos, time, reservation,
/// constraint, exclude, gpus_per_node) where they say nothing, so that plan and checks know of
/// them. A key counts before an extra, an extra before a variable. Pure.
Job apply_overrides(Job job, const SbatchVariables& variables);

/// The type that an extra asks GPUs of: "v100" of "--gres=gpu:v100:2", "--gpus-per-node=v100:2".
/// Empty: none, or several, which Slurm judges.
std::string gpu_type_in(const std::string& extra);
/// Of all of them the first.
std::string wanted_gpu_type(const std::vector<std::string>& extras);

/// Variables that would change what these options of sbatch say: it lets them count before the
/// lines of a script. With the option each is up against.
struct Overriding {
  std::string variable = {};
  std::string value = {};
  std::string option = {};  // "--partition=gpu"; empty: no line, but our way to submit
};
std::vector<Overriding> overriding(const std::vector<std::string>& options,
                                   const SbatchVariables& variables);

/// For people, where it makes a difference: which of them do not count.
std::vector<std::string> notes_on(const std::vector<Overriding>& variables);

/// "sbatch", in front of it what takes these variables out of its environment.
std::vector<std::string> sbatch_without(const std::vector<Overriding>& variables);

/// The options in the head of a script, "--partition=gpu" of "#SBATCH --partition=gpu".
std::vector<std::string> options_of_script(std::string_view script);

}  // namespace dllaunch

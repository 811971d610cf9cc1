// What sbatch and srun say when Slurm refuses a job, and what to do then.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dllaunch {

struct SlurmRefusal {
  std::string_view says;   // within the message
  std::string_view means;  // a sentence's beginning in lower case
  std::string_view next;   // what to do; may be empty
};

/// Slurm 22.05 to 26.05.
std::span<const SlurmRefusal> slurm_refusals();

/// The row whose words the message has; of several the longest. Null: none.
const SlurmRefusal* refusal_in(std::string_view message);

/// What to do about a message; `otherwise` if no row says it.
std::string next_step(std::string_view message, std::string_view otherwise);

}  // namespace dllaunch

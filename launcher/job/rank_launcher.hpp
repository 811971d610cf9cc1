// Takes torchrun and its like off a command: dllaunch itself starts the ranks.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace dllaunch {

/// What a launcher in a command asks for, and the command without it.
struct RankLauncher {
  std::size_t begin = 0;              // its offset in the text
  std::string written = {};           // "torchrun --nproc_per_node=4", on one line
  std::string framework = "pytorch";  // pytorch | deepspeed
  std::optional<int> nodes = {};
  std::optional<int> ranks_per_node = {};
  std::optional<int> ranks = {};     // of all nodes
  bool one_worker = false;           // per node, as written or by default
  bool one_node = true;              // it reaches no other, as written or by default
  bool lists_hosts = false;          // deepspeed: the ranks of all nodes are its own
  std::optional<int> restarts = {};  // above 0
  std::string refusal = {};          // why it cannot be taken off; empty: it can
  std::string command = {};          // what every rank runs instead
};

/// What is known of bash variables that the launcher's options read.
using KnownNumbers = std::map<std::string, long, std::less<>>;

/// Looks for torchrun, python -m torch.distributed.run, accelerate launch or deepspeed as a command
/// of bash `text`, outside loops, conditions and functions. nullopt: there is none. Pure.
std::optional<RankLauncher> rank_launcher_in(std::string_view text,
                                             const KnownNumbers& numbers = {});

/// True if bash `text` starts a job step of its own, `srun ...` without --overlap, outside loops,
/// conditions and functions: in a rank it waits for the step that the rank is in. Pure.
bool starts_a_step(std::string_view text);

}  // namespace dllaunch

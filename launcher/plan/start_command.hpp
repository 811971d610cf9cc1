// The command that starts the ranks: a starter with options, dllaunch around each rank, the
// program.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dllaunch {

enum class Starter {
  none,
  srun,
  mpirun,  // Open MPI's
  aprun,   // gives ranks only their numbers
  spawn,   // `dllaunch spawn`, on one machine
  other    // named by the profile of a cluster without Slurm
};

/// The variable in which ranks find the nodes in the order of their ranks, a host list.
inline constexpr const char* node_order_variable = "DLLAUNCH_NODE_ORDER";

struct StartCommand {
  std::string starter = {};               // the program, e.g. "srun"
  std::vector<std::string> options = {};  // the starter's; ends with "--" if it takes one
  std::size_t users = 0;                  // of `options`, the last that are the user's own words
  std::vector<std::string> shim = {};     // dllaunch exec ... --; empty: no shim
  std::vector<std::string> program = {};  // executed by each rank

  Starter kind() const;
  bool starts_by_srun() const { return kind() == Starter::srun; }
  /// The command as executed.
  std::vector<std::string> argv() const;
  /// The index in argv() of the shim; without a shim, of the program.
  std::size_t shim_position() const { return (starter.empty() ? 0 : 1) + options.size(); }
};

/// The command whose argv() is `argv`. Without a shim, program and options cannot be told apart:
/// all words become options.
StartCommand start_command_of(const std::vector<std::string>& argv);

}  // namespace dllaunch

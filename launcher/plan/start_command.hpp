// What starts the ranks: a starter with its options, dllaunch around each rank, the rank's program.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dllaunch {

enum class Starter {
  none,
  srun,
  mpirun,  // Open MPI's own
  aprun,   // tells its ranks nothing but their numbers
  other    // what the profile of a cluster without Slurm names
};

struct StartCommand {
  std::string starter = {};               // the program: "srun"
  std::vector<std::string> options = {};  // the starter's; "--" at the end where it takes one
  std::vector<std::string> shim = {};     // dllaunch exec ... --; empty: the program starts at once
  std::vector<std::string> program = {};  // what each rank execs

  Starter kind() const;
  bool starts_by_srun() const { return kind() == Starter::srun; }
  /// The words as they are executed.
  std::vector<std::string> argv() const;
  /// Where in argv() the shim begins; without a shim, the program.
  std::size_t shim_position() const { return (starter.empty() ? 0 : 1) + options.size(); }
};

/// The command of which argv() is `argv`. Without a shim of ours among the words nothing tells the
/// program from the options: then all of them are options.
StartCommand start_command_of(const std::vector<std::string>& argv);

}  // namespace dllaunch

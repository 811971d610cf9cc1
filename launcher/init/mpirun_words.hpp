// The words of mpirun, mpiexec and horovodrun in a script.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dllaunch {

struct MpirunWords {
  std::size_t program = 0;  // index of the first word of what every rank runs
  long ranks = -1;          // of the job; -1: not given, or known only when the script runs
  long ranks_per_node = -1;
  std::vector<std::pair<std::string, std::string>> variables = {};  // -x NAME=VALUE
  /// The words that name a variable and its value, which only the script knows.
  struct Exported {
    std::size_t begin = 0;
    std::size_t words = 1;  // NAME=VALUE; 2: NAME VALUE
  };
  std::vector<Exported> exports = {};
  std::vector<std::string> dropped = {};  // "--bind-to core: dllaunch places ..."
  std::string refusal = {};               // why they cannot be read; empty: they can
};

/// `words`: those after mpirun; unknown_piece stands for unknown parts. Pure. Options of Open MPI,
/// MPICH, Intel MPI and Horovod.
MpirunWords read_mpirun_words(std::span<const std::string> words);

}  // namespace dllaunch

// The commands of an sbatch script as `setup` and `run` of a job file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/init/srun_words.hpp"
#include "launcher/lint/script.hpp"

namespace dllaunch {

struct ConvertedBody {
  std::vector<std::string> modules = {};
  std::string activate = {};  // a venv
  std::vector<std::pair<std::string, std::string>> variables = {};
  std::string setup = {};                       // what the script does before its ranks start
  std::string run = {};                         // what each of them runs
  std::size_t line = 0;                         // where that stands
  std::string srun_program = {};                // the first word behind srun; empty: a variable
  std::string plain_setup = {};                 // the same without what only `run` needs
  std::string plain_run = {};                   // the command as written
  std::vector<std::string> plain_dropped = {};  // what plain_setup lacks
  bool whole_script = false;                    // `run` is all of it, for one rank
  bool runs_once = false;                       // `run` starts the ranks of all nodes
  std::string framework = "none";  // mpi or horovod, if their launcher started the ranks
  SlurmRequest request = {};       // of srun, or the job's
  long tasks_per_node = -1;        // as mpirun has it; -1: as `request`
  ContainerWords container = {};   // without an image: none
  std::vector<std::string> srun_extra = {};
  std::vector<std::string> dropped = {};  // "line 3: srun's --label: ..."
  std::vector<std::string> reasons = {};  // why the script cannot be converted
};

/// Whether convert_body() takes the directive over.
bool is_read_by_body(const lint::GivenOption& directive);

/// Pure. The last srun with work is the job; earlier ones stay in `setup`. Without srun it is the
/// last mpirun, or on one node torchrun and the like, or deepspeed with a list of hosts. A script
/// without any is run as a whole, by one rank, or what follows an srun that only looks around.
ConvertedBody convert_body(const lint::Script& script);

}  // namespace dllaunch

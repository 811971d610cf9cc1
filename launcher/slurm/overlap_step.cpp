#include "launcher/slurm/overlap_step.hpp"

#include "launcher/slurm/input_variables.hpp"

namespace dllaunch {

std::vector<std::string> argv_of(const OverlapStep& step, const std::vector<std::string>& command) {
  std::vector<std::string> argv = {"env"};
  const auto add = [&argv](std::initializer_list<std::string> words) {
    argv.insert(argv.end(), words);
  };
  for (const auto inherited : variables_of(SlurmProgram::srun)) add({"-u", std::string(inherited)});
  if (step.limit)
    add({"timeout", "--kill-after=" + std::to_string(step.grace.count()),
         std::to_string(step.limit->count())});
  add({"srun"});
  if (!step.job.empty()) add({"--jobid=" + step.job});
  if (!step.group.empty()) add({"--het-group=" + step.group});
  add({"--overlap"});
  if (!step.nodes.empty()) add({"--nodelist=" + step.nodes});
  const auto count = std::to_string(step.count);
  add({"--nodes=" + count, "--ntasks=" + count, "--ntasks-per-node=1"});
  if (step.light) add({"--cpus-per-task=1", "--gres=none"});
  add({"--cpu-bind=none", "--mem-bind=none", "--mem=0", "--mpi=none",
       step.hears ? "--input=all" : "--input=none"});
  if (!step.name.empty()) add({"--job-name=" + step.name});
  add({"--kill-on-bad-exit=0", "--quiet"});
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

}  // namespace dllaunch

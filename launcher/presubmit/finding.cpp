#include "launcher/presubmit/finding.hpp"

#include <iterator>

namespace dllaunch {
namespace {

constexpr std::string_view ask_the_site =
    "Name another one in the job file, or ask the cluster's administrators. `sinfo` and `scontrol "
    "show partition` show what there is.";

constexpr Explanation queue_check_table[] = {
    {"plan", "No plan can be made for the job on this cluster.",
     "The ranks' cores, masks or reserved CPUs do not fit the nodes, or two keys contradict each "
     "other.",
     "Change what the message names; `dllaunch help binding` explains the keys, `dllaunch plan "
     "JOB.yaml` shows the plan once there is one."},
    {"partition", "The partition does not take the job.",
     "It does not exist, is drained or down, or is closed to your account, QOS or groups.",
     ask_the_site},
    {"nodes", "That number or kind of nodes is not available.",
     "More nodes than there are with these GPUs, this memory, features and exclusions, outside the "
     "partition's limits, or too many of them out of order now.",
     "Lower resources.nodes, or loosen gpus_per_node, memory, constraint or exclude."},
    {"gpus", "GPUs of that number or type cannot be used.",
     "resources.gpus_per_node, resources.device or a type in resources.sbatch_extra "
     "(--gres=gpu:TYPE:N) asks for what no node there has, or for what the trainer of this build "
     "cannot drive.",
     "Ask for fewer GPUs or another type, or name a partition that has them."},
    {"time", "The time limit does not fit.",
     "It is above the limit of every partition named, or none is given and the default is short.",
     "Set resources.time to what the job needs."},
    {"account", "The account or QOS may not be used.",
     "You are not a member, only in another partition, or the job names none and you have no "
     "default one.",
     "Set resources.account or resources.qos; `sacctmgr show user $USER withassoc` lists yours."},
    {"reservation", "The reservation does not admit the job.",
     "It does not exist, is over or not active yet, is for others, or is too small.",
     "Leave out resources.reservation, or change what the message names."},
    {"placement", "The nodes are not placed as the job needs it.",
     "The job is wider than a block of the network and has no resources.segment, or asks for a "
     "segment or a number of switches that the network or this Slurm cannot give.",
     "Set resources.segment to a divisor of the nodes that fits a block; `dllaunch topo --network` "
     "shows the blocks and switches."},
    {"command", "The command of run: cannot be started.",
     "It is not on PATH, does not exist, is a folder or is not executable, or the script it reads "
     "does not exist.",
     "Correct the path: it is relative to the folder in which dllaunch is called."},
    {"trainer", "The trainer dltrain is missing.",
     "A job with train: runs it on every rank, and it is neither beside dllaunch nor on PATH.",
     "Build it, or put it in the folder of dllaunch."},
    {"data", "Data that training reads is missing.",
     "train.dataset.path or train.init_from names what does not exist.",
     "Correct the path; `dllaunch data get NAME` fetches a published data set."},
    {"stage", "A source of stage: cannot be copied.",
     "It does not exist on this machine, or two sources have the same name.",
     "Correct the path, or remove it from stage:."},
    {"environment", "The environment of the ranks cannot be made.",
     "environment.activate names no virtual or conda environment, or environment.variables has a "
     "name that bash or srun does not take.",
     "Name the environment's folder, the one that holds bin/, or correct the variable."},
    {"container", "The container cannot be used.",
     "Its image or a mount does not exist, or its runtime is not on this machine.",
     "Correct the path in environment.container. A missing runtime is no error: nodes may have "
     "it."},
    {"modules", "A module cannot be loaded.",
     "It does not exist, needs another one first, or there is no `module` command here.",
     "`module avail` lists them; modules load in the order of environment.modules."},
    {"run-dir", "The run directory cannot be used.",
     "It cannot be made or written, it is on a file system that the nodes do not share (/tmp), or "
     "other users can put another directory in its place.",
     "Choose another with --run-dir, or call dllaunch in a shared folder in which others rename "
     "nothing of yours: one that only you can write, or with a sticky bit."},
    {"sbatch", "`sbatch --test-only` refuses the job.",
     "Slurm knows a rule that no other check explains, or it is busy.",
     "Follow Slurm's message; the site's documentation explains its own rules."},
};
static_assert(std::size(queue_check_table) == static_cast<std::size_t>(QueueCheck::sbatch) + 1);

}  // namespace

std::span<const Explanation> queue_checks() {
  return queue_check_table;
}

std::string_view to_string(QueueCheck check) {
  return queue_check_table[static_cast<std::size_t>(check)].id;
}

}  // namespace dllaunch

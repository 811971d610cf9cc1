#include "launcher/base/exit_code.hpp"

namespace dllaunch {
namespace {

constexpr Explanation table[] = {
    {"0", "Success.", "The command did what it was asked; a followed job completed.", ""},
    {"1", "The job failed.",
     "A rank exited with an error or died of a signal, or Slurm ended the job: time limit, memory, "
     "a lost node, a cancellation.",
     "`dllaunch status RUN` names the first error, its rank and what to change; `dllaunch logs "
     "RUN` shows the output."},
    {"2", "The command line or a file is wrong.",
     "An unknown option, key or name, a value out of range, a file that cannot be read. Nothing "
     "was started.",
     "Correct what the message names. `dllaunch validate JOB.yaml` lists all errors of a job "
     "file."},
    {"3", "This machine or cluster lacks something.",
     "No Slurm, no MPI, no such partition, fewer nodes or GPUs than asked for, a full disk, or a "
     "program that did not answer in time.",
     "Follow the line that begins with `try:`. `dllaunch info` shows what is found here; "
     "`dllaunch plan JOB.yaml --check` checks a job against the cluster."},
    {"4", "A check found a problem.",
     "`lint` found an error in a script, or `doctor` a failure. Warnings alone exit with 0.",
     "Each finding says what to write instead. `dllaunch explain ID` explains its id."},
    {"75", "A command has saved, and wants to go on in another start.",
     "Its program was asked to save (recovery.signal), did so, and says it by this code.",
     "Nothing: with recovery.requeue_on the job is requeued; else `dllaunch run RUN` continues "
     "it."},
    {"93", "Do not start the job again.",
     "A later start of the same run owns its directory, or a program asked never to be restarted. "
     "The earlier start stops and writes nothing more.",
     "Nothing, if `dllaunch status RUN` shows the later start. Otherwise do not start one run "
     "directory twice."},
    {"94", "Requeue the job as a whole.",
     "A component's supervisor tells it to its owner, which requeues the job when all have ended.",
     "Nothing: `dllaunch supervise --components` reads it."},
    {"128+N", "dllaunch itself was stopped by signal N.",
     "130 is Ctrl-C (SIGINT), 143 is SIGTERM, 137 is SIGKILL, which the kernel also sends when "
     "memory runs out.",
     "`dllaunch status RUN` shows whether the job still runs; `dllaunch logs -f RUN` follows it "
     "again."},
};

}  // namespace

std::span<const Explanation> exit_codes() {
  return table;
}

}  // namespace dllaunch

// Ranks that hang or die, on a real Slurm: where each of them was is told while they hang, and kept
// before they are ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <memory>

#include "tests/end_to_end/local_run.hpp"
#include "tests/end_to_end/test_cluster.hpp"
#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::ContainsRegex;
using testing::HasSubstr;

/// Rank 2 sleeps in a function, the others wait for a connection.
constexpr const char* hang = R"(import os, socket, time

def loader():
    print("waits", flush=True); time.sleep(1000)

def barrier():
    waiting = socket.socket()
    waiting.bind(("127.0.0.1", 0))
    waiting.listen()
    # Told in the line in which it stays.
    print("waits", flush=True); waiting.accept()

loader() if os.environ["RANK"] == "2" else barrier()
)";

constexpr const char* mpi_hang = R"(#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

void __attribute__((noinline)) compute_forces(void) {
  sleep(1000);
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < 8; ++step) {
    double one = 1, sum = 0;
    if (rank == 2 && step == 6) {
      puts("hangs");
      fflush(stdout);
      compute_forces();
    }
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
)";

constexpr const char* jax_hang = R"(import os, time
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(
    f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}",
    int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"]))
mesh = Mesh(np.array(jax.devices()), ("ranks",))


def next_batch(step):
    if step == 6 and jax.process_index() == 2:
        print("hangs", flush=True)
        time.sleep(1000)
    return np.ones((4, 8), np.float32)


for step in range(8):
    shards = NamedSharding(mesh, PartitionSpec("ranks"))
    batch = jax.make_array_from_process_local_data(shards, next_batch(step))
    print(float(jax.jit(jnp.sum)(batch)), flush=True)
)";

constexpr const char* tensorflow_hang = R"(import os, time
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    weight = tf.Variable(1.0)


def next_batch(step):
    if step == 6 and os.environ["RANK"] == "2":
        print("hangs", flush=True)
        time.sleep(1000)
    return tf.ones((8,))


@tf.function
def train_step(batch):
    def on_replica(batch):
        mean = tf.reduce_mean(weight * batch)
        total = tf.distribute.get_replica_context().all_reduce("SUM", mean)
        weight.assign_sub(0.1 * total)
        return total

    return strategy.run(on_replica, args=(batch,))


for step in range(8):
    print(float(strategy.reduce("MEAN", train_step(next_batch(step)), axis=None)), flush=True)
)";

const std::string outside = "is outside the collective in which the others wait; 3 others wait in ";

/// As an ordinary user, to whom no process of others is readable.
class SlurmStacks : public OnTestCluster {
 protected:
  static void SetUpTestSuite() {
    start_cluster({"--nodes", "2", "--cpus", "2", "--user", "alice"});
  }
  void arrange() override {
    if (std::system("/usr/bin/python3 -c ''") != 0) GTEST_SKIP() << "no /usr/bin/python3";
    fs::permissions(work_->path(), fs::perms::all);
    work_->before = cluster_->login("alice");
  }

  /// Four ranks of a Python program on two nodes.
  void start(const std::string& program, int minutes, const std::string& more = "") {
    work_->file("hang.py", program);
    start_command("/usr/bin/python3, hang.py", minutes, more);
  }
  void start_command(const std::string& command, int minutes, const std::string& more) {
    const auto job = work_->file(
        "job.yaml", fmt::format("name: hang\nresources: {{nodes: 2, ranks_per_node: 2, device: "
                                "cpu, time: {}}}\n{}run: [{}]\n",
                                minutes, more, command));
    work_->start({"run", job, "--run-dir", work_->run_dir()});
  }
  /// Of a program of which rank 2 hangs in its sixth step, outside the others' collective.
  void expect_named(const std::string& frame, const std::string& why) {
    const auto hangs = [&] {
      return work_->text_of("run/out/rank-0002-n2.log").find("hangs\n") != std::string::npos;
    };
    ASSERT_TRUE(happens_within(120s, [&] { return hangs() || !work_->running(); }) && hangs());
    const std::string odd = "^rank 2 on n2 is in " + frame + ": it " + why;
    // The others reach their collective soon after.
    Ended shown;
    happens_within(60s, [&] {
      shown = ask({"stacks", work_->run_dir()});
      return testing::Matches(ContainsRegex(odd))(shown.out);
    });
    EXPECT_THAT(shown.out, ContainsRegex(odd));
    EXPECT_EQ(ask({"cancel", work_->run_dir(), "--now"}).exit_code, 0);
    work_->wait(60s);
  }
  bool all_wait() {
    return happens_within(60s, [&] {
      int waiting = 0;
      for (const auto& entry : entries_of(work_->run_dir() + "/out"))
        waiting += work_->text_of("run/out/" + entry).find("waits") != std::string::npos ? 1 : 0;
      return waiting == 4 || !work_->running();
    });
  }
  /// Of a second `dllaunch`, as from another terminal.
  Ended ask(const std::vector<std::string>& argv) const {
    Workplace terminal(work_->path() + "/terminal");
    terminal.before = work_->before;
    terminal.environment = work_->environment;
    return terminal.run(argv);
  }
};

TEST_F(SlurmStacks, OfAHangAreShownAndThenKeptBeforeItsEnd) {
  start(hang, 5, "runtime: {stall_seconds: 1, stall_abort_seconds: 40}\n");
  ASSERT_TRUE(all_wait());
  const std::string odd =
      "rank 2 on n2 is in loader \\(hang.py:4\\): it does something else than the others; "
      "3 others are in barrier \\(hang.py:11\\)";
  const auto shown = ask({"stacks", work_->run_dir()});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, ContainsRegex("^" + odd));
  EXPECT_THAT(shown.out,
              HasSubstr("\n\n[0-3] <module> (hang.py:13)\n  [0-1,3] barrier (hang.py:11)\n"));

  const auto ended = work_->wait(60s);
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, ContainsRegex(odd)) << "the cause, and not that the rank was killed";
  EXPECT_THAT(ended.err, ContainsRegex("try: .*/autopsy/.*txt has the stacks of all ranks"));
  EXPECT_THAT(work_->text_of("run/slurm-" + work_->job_id() + ".out"),
              ContainsRegex("dllaunch: " + odd + "; autopsy/.*txt has the stacks"));
  const auto status = ask({"status", work_->run_dir()});
  EXPECT_THAT(status.out,
              ContainsRegex("stacks +" + odd + " \\(no progress for .* s\\): autopsy/"));
  ASSERT_EQ(ask({"report", work_->run_dir(), "--html"}).exit_code, 0);
  EXPECT_EQ(unexplained_files(work_->run_dir()), std::vector<std::string>());
}

/// Its own watchdog ends it.
TEST_F(SlurmStacks, OfTheBuiltInTrainerAreKeptBeforeItGivesUp) {
  // A shorter limit leaves less time for reading, too little on a busy machine.
  if (!full_tier()) GTEST_SKIP() << "takes a minute: DLLAUNCH_TEST_FULL=1";
  const auto job = work_->file("job.yaml", R"(name: hang
resources: {nodes: 2, ranks_per_node: 2, device: cpu, time: 5}
train:
  model: lenet
  dataset: {kind: synthetic, images: 20000}
  batch_size: 16
  epochs: 1000
runtime: {stall_seconds: 1, stall_abort_seconds: 40}
recovery: {max_restarts: 0}
)");
  work_->start({"run", job, "--run-dir", work_->run_dir()});
  const auto steps = [this] { return events_of(work_->run_dir(), "step").size() > 3; };
  ASSERT_TRUE(happens_within(60s, [&] { return steps() || !work_->running(); }) && steps());
  const auto ranks = processes_of(work_->run_dir(), 2);
  ASSERT_EQ(ranks.size(), 1u);
  kill(ranks[0], SIGSTOP);
  const auto ended = work_->wait(120s);
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, ContainsRegex("try: .*/autopsy/.*txt has the stacks of all ranks"));
  // The others may wait at two levels of the communicator.
  EXPECT_THAT(
      ask({"status", work_->run_dir()}).out,
      ContainsRegex("stacks +rank 2 on n2 .*: it is stopped \\(by a signal or a debugger\\); "
                    "[1-3] others? waits? in .* \\(stalled for (29|3[0-9]|4[0-9]) s\\): autopsy/"));
}

TEST_F(SlurmStacks, OfARankThatDiesOfASignalAreInItsLog) {
  start(
      "import os, signal\n\ndef breaks():\n    os.kill(os.getpid(), signal.SIGSEGV)\n\nbreaks()\n",
      5);
  const auto ended = work_->wait(60s);
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("hang.py\", line 4 in breaks"));
}

TEST_F(SlurmStacks, OfAnMpiProgramInC) {
  const auto source = work_->file("hang.c", mpi_hang);
  if (std::system(fmt::format("mpicc -O1 -g {} -o {}/hang", source, work_->path()).c_str()) != 0)
    GTEST_SKIP() << "no mpicc";
  start_command("./hang", 5, "framework: mpi\n");
  expect_named("compute_forces \\(hang.c:6\\)", outside + "MPI_Allreduce");
}

/// The environment of scripts/framework-venvs; empty: there is none.
std::string python_of(const std::string& name) {
  const std::string path = DLLAUNCH_SOURCE_DIR "/build/frameworks/" + name;
  return fs::exists(path + "/complete") ? path + "/bin/python3" : "";
}

TEST_F(SlurmStacks, OfJax) {
  if (!full_tier()) GTEST_SKIP() << "needs an environment of 600 MB: scripts/test --full";
  const auto python = python_of("jax");
  if (python.empty()) GTEST_SKIP() << "no JAX: scripts/framework-venvs build/frameworks jax";
  work_->file("hang.py", jax_hang);
  start_command("'" + python + "', hang.py", 5, "framework: jax\n");
  // Gloo's functions are found in libraries of some hundred MB, for which a busy node has no time.
  expect_named("next_batch \\(hang.py:17\\)",
               "(" + outside + "gloo::allreduce|does something else than the others; 3 others)");
}

TEST_F(SlurmStacks, OfTensorFlow) {
  if (!full_tier()) GTEST_SKIP() << "needs an environment of 1.6 GB: scripts/test --full";
  const auto python = python_of("tensorflow");
  if (python.empty())
    GTEST_SKIP() << "no TensorFlow: scripts/framework-venvs build/frameworks tensorflow";
  work_->file("hang.py", tensorflow_hang);
  start_command("'" + python + "', hang.py", 5, "framework: tensorflow\n");
  expect_named("next_batch \\(hang.py:12\\)", outside + "a TensorFlow function");
}

TEST_F(SlurmStacks, AreKeptBeforeTheTimeLimit) {
  if (!full_tier()) GTEST_SKIP() << "takes a minute: DLLAUNCH_TEST_FULL=1";
  start(hang, 1);
  EXPECT_EQ(work_->wait(150s).exit_code, 1);
  EXPECT_THAT(ask({"status", work_->run_dir()}).out,
              ContainsRegex("stacks +rank 2 on n2 .*the time limit is near"));
}

}  // namespace
}  // namespace dllaunch

// Programs of other people's frameworks on a real Slurm of two nodes, started by dllaunch.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "launcher/os/posix_system.hpp"
#include "tests/end_to_end/test_cluster.hpp"
#include "tests/support/pytorch.hpp"
#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

const std::string source = DLLAUNCH_SOURCE_DIR;
const std::string programs = DLLAUNCH_BIN_DIR;
const std::string examples = source + "/examples";

class SlurmFrameworks : public OnTestCluster {
 protected:
  static void SetUpTestSuite() {
    start_cluster({"--nodes", "2", "--cpus", "16", "--task-plugin", "none"});
  }

  /// A bash line on the login node; $dllaunch and $work are set.
  CommandOutput on_head(const std::string& line) {
    auto argv = cluster_->login();
    argv.insert(argv.end(), {"env", "dllaunch=" + programs + "/dllaunch", "work=" + work_->path(),
                             "programs=" + programs, "bash", "-c", line});
    auto output = PosixSystem(Console{}).run(argv, 450s);
    return output ? *std::move(output) : CommandOutput{-1, "", output.error().what};
  }

  /// An example's job with its command.
  Ended run_example(const std::string& name, const std::string& command,
                    std::vector<std::string> more = {}) {
    std::vector<std::string> argv = {"run",       examples + "/" + name + "/job.yaml",
                                     "--run-dir", work_->run_dir(),
                                     "--set",     "run=[" + command + "]"};
    argv.insert(argv.end(), more.begin(), more.end());
    work_->start(argv);
    return work_->wait(400s);
  }

  /// Of what Debian does not have: an environment that scripts/framework-venvs makes.
  static std::string venv(const std::string& name) { return source + "/build/frameworks/" + name; }
  /// Why it cannot be used; empty: it can.
  static std::string why_not(const std::string& name) {
    if (!full_tier()) return "needs environments of some GB: scripts/test --full";
    if (fs::exists(venv(name) + "/complete")) return "";
    return fmt::format("no {0}: scripts/framework-venvs build/frameworks {0}", name);
  }
  Ended run_in(const std::string& path, const std::string& example, const std::string& script) {
    return run_example(example, path + "/bin/python, " + examples + "/" + example + "/" + script,
                       {"--set", "environment.activate=" + path});
  }
};

using Map = std::map<std::string, std::string>;

/// One rank's lines of `env`, out of "3: NAME=VALUE" of `srun --label`.
Map rank_environment(const std::string& text, int rank) {
  Map found;
  std::istringstream lines(text);
  const std::string label = std::to_string(rank) + ": ";
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(label)) continue;
    line.erase(0, label.size());
    found[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
  }
  return found;
}

// With and without a run directory, whatever an earlier launcher has left around.
TEST_F(SlurmFrameworks, EveryRankLearnsTheSameMeetingPoint) {
  const std::string stale =
      "MASTER_ADDR=old MASTER_PORT=1 RANK=9 WORLD_SIZE=99 GROUP_RANK=7 TORCHELASTIC_RUN_ID=old "
      "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_LOCAL_RANK=0 "
      "OMPI_COMM_WORLD_LOCAL_SIZE=1 OMPI_MCA_orte_hnp_uri=x TF_CONFIG={} HOROVOD_SIZE=5 ";
  for (const std::string& run_dir : {std::string(), work_->path() + "/dir"}) {
    const std::string option = run_dir.empty() ? "" : "--no-log --run-dir \"$work/dir\" ";
    if (!run_dir.empty()) fs::create_directory(run_dir);
    const auto output = on_head(stale +
                                "srun --label --mpi=none -N2 -n4 --ntasks-per-node=2 "
                                "\"$dllaunch\" exec " +
                                option + "--framework pytorch -- env");
    ASSERT_EQ(output.exit_code, 0) << output.err;
    const auto first = rank_environment(output.out, 0);
    ASSERT_TRUE(first.contains("MASTER_PORT")) << output.out;
    for (int rank = 0; rank < 4; ++rank) {
      const auto set = rank_environment(output.out, rank);
      EXPECT_EQ(set.at("RANK"), std::to_string(rank));
      EXPECT_EQ(set.at("WORLD_SIZE"), "4");
      EXPECT_EQ(set.at("LOCAL_RANK"), std::to_string(rank % 2));
      EXPECT_EQ(set.at("LOCAL_WORLD_SIZE"), "2");
      EXPECT_EQ(set.at("NODE_RANK"), std::to_string(rank / 2));
      EXPECT_EQ(set.at("GROUP_RANK"), std::to_string(rank / 2));
      EXPECT_EQ(set.at("GROUP_WORLD_SIZE"), "2");
      EXPECT_EQ(set.at("MASTER_ADDR"), "n1");
      EXPECT_EQ(set.at("MASTER_PORT"), first.at("MASTER_PORT"));
      EXPECT_THAT(set.at("TORCHELASTIC_RUN_ID"), testing::StartsWith("dllaunch-slurm-"));
      for (const char* gone : {"OMPI_COMM_WORLD_RANK", "OMPI_MCA_orte_hnp_uri", "TF_CONFIG",
                               "HOROVOD_SIZE", "JAX_PROCESS_ID"}) {
        EXPECT_FALSE(set.contains(gone)) << gone;
      }
    }
  }
}

constexpr const char* many_steps = R"sh(
  salloc -Q -N1 -n2 -w n1 bash -c '
    for i in $(seq 25); do
      srun --overlap --overcommit -n2 --mpi=none "$dllaunch" exec -- \
        "$programs/port_holder" "$work/release" > "$work/step-$i" 2>&1 &
    done
    for try in $(seq 1800); do
      if [ "$(cat "$work"/step-* | grep -c "PORT\|MET")" -ge 50 ]; then break; fi
      sleep 0.1
    done
    touch "$work/release"
    wait'
  cat "$work"/step-*)sh";

// $jobs of two ranks beside each other on both nodes, all led from n1.
constexpr const char* many_jobs = R"sh(
  cat > "$work/job.sh" << 'END'
#!/bin/bash
srun --mpi=none "$dllaunch" exec -- "$programs/port_holder" "$work/release"
END
  scontrol update partitionname=batch oversubscribe=force:64
  for i in $(seq "$jobs"); do
    sbatch --quiet -N2 -n2 --oversubscribe -o "$work/job-$i" "$work/job.sh"
  done
  for try in $(seq 1800); do
    if [ "$(cat "$work"/job-[0-9]* 2> /dev/null | grep -c "PORT\|MET")" -ge $((jobs * 2)) ]; then
      break
    fi
    sleep 0.1
  done
  echo "running: $(squeue --noheader --states=running | wc -l)"
  touch "$work/release"
  for try in $(seq 1200); do
    if [ -z "$(squeue --noheader)" ]; then break; fi
    sleep 0.1
  done
  scontrol update partitionname=batch oversubscribe=no
  cat "$work"/job-[0-9]*)sh";

constexpr const char* requeued_job = R"sh(
  mkdir "$work/dir"
  cat > "$work/job.sh" << 'END'
#!/bin/bash
srun --mpi=none "$dllaunch" exec --no-log --run-dir "$work/dir" -- \
  "$programs/port_holder" "$work/release"
END
  id=$(sbatch --parsable --requeue -N2 -n4 --open-mode=append -o "$work/out" "$work/job.sh")
  wait_for() {
    for try in $(seq 1200); do
      if [ "$(grep -c "PORT\|MET" "$work/out" 2> /dev/null)" -ge "$1" ]; then return; fi
      sleep 0.1
    done
  }
  wait_for 4
  scontrol requeue "$id"
  sleep 1
  scontrol update "jobid=$id" StartTime=now  # else Slurm lets it wait for two minutes
  wait_for 8
  touch "$work/release"
  echo "$id" > "$work/id"
  cat "$work/out")sh";

/// Every rank 0, all on one node, has a port of its own, and everybody met its own rank 0.
void expect_pairs(const std::string& text, std::size_t pairs) {
  std::multiset<std::string> ports;
  std::multiset<std::string> met;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("PORT ")) ports.insert(line.substr(5));
    if (line.starts_with("MET ")) met.insert(line.substr(4));
    EXPECT_THAT(line, testing::Not(HasSubstr("STRANGER")));
  }
  EXPECT_EQ(ports.size(), pairs) << text;
  EXPECT_EQ(met, ports);
  const std::set<std::string> different(ports.begin(), ports.end());
  EXPECT_EQ(different.size(), pairs) << text;
}

// Steps of two ranks on one node at once, all holding their ports; then jobs beside each other, 50
// of them in the full tier.
TEST_F(SlurmFrameworks, StartsThatShareANodeNeverMeetEachOther) {
  const auto steps = on_head(many_steps);
  EXPECT_EQ(steps.exit_code, 0) << steps.err;
  expect_pairs(steps.out, 25);
  fs::remove(work_->path() + "/release");
  const std::size_t count = full_tier() ? 50 : 10;
  const auto jobs = on_head(fmt::format("jobs={}\n{}", count, many_jobs));
  EXPECT_EQ(jobs.exit_code, 0) << jobs.err;
  EXPECT_THAT(jobs.out, HasSubstr(fmt::format("running: {}\n", count))) << "all at once";
  expect_pairs(jobs.out, count);
}

// With the file of its former self in the run directory.
TEST_F(SlurmFrameworks, ARequeuedJobMeetsAnew) {
  const auto output = on_head(requeued_job);
  std::map<std::string, int> met;
  std::set<std::string> led;
  std::istringstream lines(output.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("PORT ")) led.insert(line.substr(5));
    if (line.starts_with("MET ")) ++met[line.substr(4)];
  }
  EXPECT_EQ(led.size(), 2u) << output.out << output.err;
  for (const auto& port : led) EXPECT_EQ(met[port], 3) << output.out;
  EXPECT_EQ(met.size(), 2u) << output.out;
  auto start = work_->path() + "/dir/.rendezvous/slurm-" + work_->text_of("id");
  start.pop_back();  // the line's end
  for (const char* restart : {"r0", "r1"}) {
    EXPECT_TRUE(fs::exists(start + ".0-" + restart)) << restart;
  }
}

TEST_F(SlurmFrameworks, PyTorchTrainsOnTwoNodes) {
  if (!has_pytorch()) GTEST_SKIP() << no_pytorch;
  const std::string train = examples + "/pytorch-ddp/train.py";
  const auto ended = run_example("pytorch-ddp", "/usr/bin/python3, " + train);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(ended.err, HasSubstr("rank " + std::to_string(rank) + " of 4 on n" +
                                     std::to_string(rank / 2 + 1) + ": local rank " +
                                     std::to_string(rank % 2)));
  }
  EXPECT_THAT(ended.err, testing::ContainsRegex("epoch 2: loss 0\\.[0-9]+, accuracy 0\\.9"));
  const auto plain = on_head(
      "srun -N2 -n2 --mpi=none \"$dllaunch\" exec --framework pytorch -- "
      "/usr/bin/python3 '" +
      train + "' --epochs 1");
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_THAT(plain.out, HasSubstr("rank 1 of 2 on n2"));
}

/// As docs/how-to/any-command.md has it.
TEST_F(SlurmFrameworks, OneTorchrunPerNodeStartsItsWorkers) {
  if (!has_pytorch()) GTEST_SKIP() << no_pytorch;
  const auto job = work_->file(
      "elastic.yaml",
      "name: elastic\nresources: {nodes: 2, ranks_per_node: 1, device: cpu, time: 10m}\n"
      "environment: {variables: {OMP_NUM_THREADS: \"1\"}}\nrun: >\n"
      "  /usr/bin/torchrun --nnodes=2 --nproc_per_node=2 --rdzv_backend=c10d\n"
      // With Python 3.11 the torchrun of PyTorch 1.13 rejects its own defaults of these two.
      "  --rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT --redirects=1 --tee=1 '" +
          examples + "/pytorch-ddp/train.py' --epochs 1\n");
  work_->start({"run", job, "--run-dir", work_->run_dir()});
  const auto ended = work_->wait(400s);
  // Debian 13's, whose rendezvous then cannot be switched to anything else.
  if (ended.err.find("build without libuv") != std::string::npos)
    GTEST_SKIP() << "unavailable: this torchrun is built without libuv";
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("stays, for ranks_per_node is 1"));
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_THAT(ended.err, HasSubstr("rank " + std::to_string(rank) + " of 4 on n"));
  EXPECT_THAT(ended.err, HasSubstr(" on n2: local rank 1, 1 threads, weights agree"));
}

TEST_F(SlurmFrameworks, AnMpiProgramFindsItsPeers) {
  const auto built = on_head("mpicc -O1 -o \"$work/sum\" '" + examples + "/mpi/sum.c'");
  if (built.exit_code != 0) GTEST_SKIP() << "no mpicc: " << built.err;
  const auto ended = run_example("mpi", work_->path() + "/sum");
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("rank 3 of 4 on n2: sum of ranks 6"));
  EXPECT_THAT(ended.err, testing::Not(HasSubstr("DISAGREE")));
}

// No `dllaunch run` submitted it, and yet it is a run like any other.
TEST_F(SlurmFrameworks, AScriptSubmittedByHandDoesTheSame) {
  const auto output = on_head(
      "cd \"$work\" && export XDG_CACHE_HOME=\"$work/cache\" XDG_STATE_HOME=\"$work/state\" && "
      "mpicc -O1 -o sum '" +
      examples +
      "/mpi/sum.c' && "
      "\"$dllaunch\" script '" +
      examples +
      "/mpi/job.yaml' --set 'run=[./sum]' > job.sbatch && sbatch --wait job.sbatch && "
      "\"$dllaunch\" status runs/* && \"$dllaunch\" ps && \"$dllaunch\" logs runs/*");
  if (output.err.find("mpicc") != std::string::npos) GTEST_SKIP() << output.err;
  EXPECT_EQ(output.exit_code, 0) << output.err;
  EXPECT_THAT(output.out, testing::ContainsRegex("mpi-sum-[^ ]+ +[0-9]+ +completed"));
  EXPECT_THAT(output.out, HasSubstr("[n2:3] rank 3 of 4 on n2: sum of ranks 6"));
  EXPECT_THAT(output.out, testing::Not(HasSubstr("not submitted")));
}

TEST_F(SlurmFrameworks, JaxSumsOverTwoNodes) {
  if (const auto why = why_not("jax"); !why.empty()) GTEST_SKIP() << why;
  const auto path = venv("jax");
  const auto ended = run_in(path, "jax", "psum.py");
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("process 0 of 2: 1 of 2 devices, psum 3.0"));
  EXPECT_THAT(ended.err, HasSubstr("process 1 of 2: 1 of 2 devices, psum 3.0"));
}

TEST_F(SlurmFrameworks, TensorFlowMakesAStepOnTwoNodes) {
  if (const auto why = why_not("tensorflow"); !why.empty()) GTEST_SKIP() << why;
  const auto path = venv("tensorflow");
  const auto ended = run_in(path, "tensorflow", "step.py");
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("worker 0 of 2: gradients sum to 3.0, weight 0.7"));
  EXPECT_THAT(ended.err, HasSubstr("worker 1 of 2: gradients sum to 3.0, weight 0.7"));
}

TEST_F(SlurmFrameworks, HorovodTrainsOnTwoNodes) {
  if (const auto why = why_not("horovod"); !why.empty()) GTEST_SKIP() << why;
  const auto path = venv("horovod");
  const auto ended = run_in(path, "horovod", "train.py");
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("rank 3 of 4, local rank 1 of 2: mean loss 0.000"));
  // What its Python side reads for itself, without MPI.
  const auto read = on_head(
      "srun -N2 -n4 --ntasks-per-node=2 --mpi=pmix \"$dllaunch\" exec "
      "--framework horovod -- '" +
      path +
      "/bin/python' -c 'from "
      "horovod.runner.common.util.env import get_env_rank_and_size as f; "
      "import os; print(*f(), os.environ[\"RANK\"])'");
  EXPECT_THAT(read.out, HasSubstr("3 4 3")) << read.err;
}

TEST_F(SlurmFrameworks, DeepSpeedStartsOnTwoNodes) {
  if (const auto why = why_not("deepspeed"); !why.empty()) GTEST_SKIP() << why;
  const auto path = venv("deepspeed");
  work_->environment.emplace_back("TORCH_EXTENSIONS_DIR", path + "/extensions");
  const auto ended = run_in(path, "deepspeed", "train.py");
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("rank 3 of 4, local rank 1: sum 10.0"));
}

}  // namespace
}  // namespace dllaunch

// Ranks that are asked to save, on the real test Slurm: what knows the signal gets it, and nothing
// else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

/// Loads data through a process of its own, saves when it is asked to, which takes rank 1 longer,
/// and asks for another start.
constexpr const char* saving_program = R"(import os, signal, subprocess, sys
rank = os.environ["RANK"]
if os.path.exists("saved-" + rank):
    print("resumes", flush=True)
    sys.exit(0)
asked = False
def ask(*_):
    global asked
    asked = True
signal.signal(signal.SIGUSR2, ask)
decoder = subprocess.Popen(["sh", "-c", "while :; do echo frame; sleep 0.05; done"],
                           stdout=subprocess.PIPE)
def load():
    if not decoder.stdout.readline():
        sys.exit("the decoder has ended")
load()
open("ready-" + rank, "w").close()
while not asked:
    load()
for _ in range(20 if rank == "0" else 60):
    load()
print("saves", flush=True)
open("saved-" + rank, "w").close()
sys.exit(75)
)";

class SlurmSave : public OnTestCluster, public UnderBothTrackers {
 protected:
  static void SetUpTestSuite() {
    start_cluster({"--nodes", "2", "--names", "gpu-a%02d", "--cpus", "2"});
  }
  void TearDown() override {
    if (!work_) return;
    cluster_->on_head({"scancel", "--user=root"});
    work_->wait(30s);
  }

  /// On `nodes` nodes; a rank without a handler is given half of `grace` seconds for one.
  void start(const std::string& run, const std::string& nodes, const std::string& grace) {
    const auto job =
        work_->file("job.yaml", "name: save\nresources: {nodes: " + nodes +
                                    ", ranks_per_node: 1, device: cpu, time: 10}\nrecovery: "
                                    "{signal: USR2, grace_seconds: " +
                                    grace + "}\nrun: " + run + "\n");
    work_->start({"run", job, "--run-dir", work_->run_dir()});
  }
  bool exists(const std::string& name) const {
    return std::filesystem::exists(work_->path() + "/" + name);
  }
  bool comes(const std::string& name) {
    return happens_within(60s, [&] { return exists(name) || !work_->running(); }) && exists(name);
  }
  /// As Slurm does before the time limit.
  void warn() { cluster_->on_head({"scancel", "--batch", "--signal=USR2", work_->job_id()}); }
  std::string journal() const { return work_->text_of("run/supervisor.jsonl"); }
};

TEST_P(SlurmSave, AProgramBehindAPipeIsAskedAndItsSurroundingsAreNot) {
  work_->file("save.py", saving_program);
  start("set -o pipefail; python3 save.py 2>&1 | tee -a log-$RANK; code=$?; exit $code", "2", "30");
  for (const char* name : {"ready-0", "ready-1"}) ASSERT_TRUE(comes(name)) << name;
  warn();
  const auto ended = work_->wait(200s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  for (const char* rank : {"0", "1"})
    EXPECT_EQ(work_->text_of(std::string("log-") + rank), "saves\nresumes\n") << ended.err;
  EXPECT_THAT(journal(), HasSubstr("\"next\":\"requeue\""));
  EXPECT_THAT(journal(), Not(HasSubstr("first_error")));
}

TEST_P(SlurmSave, ACommandWithoutAHandlerIsNamedAndRequeuedOnce) {
  start("[bash, -c, ': > ready-${SLURM_RESTART_COUNT:-0}; exec sleep 600']", "1", "4");
  for (const char* name : {"ready-0", "ready-1"}) {
    ASSERT_TRUE(comes(name)) << name;
    warn();
  }
  const auto ended = work_->wait(200s);
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err,
              HasSubstr("rank 0 was killed by USR2, which asks it to save: its program"));
  EXPECT_THAT(ended.err, HasSubstr("2 times in a row without a new checkpoint"));
  EXPECT_FALSE(exists("ready-2"));
}

INSTANTIATE_TEST_SUITE_P(Linuxproc, SlurmSave, testing::Values(0));
INSTANTIATE_TEST_SUITE_P(Cgroup, SlurmSave, testing::Values(0));

}  // namespace
}  // namespace dllaunch

// Processes that ranks leave behind, on a real Slurm that does not end them, or does: a data
// loader's worker with its own session, no environment and no parent ignores TERM and holds a lock,
// which stands for the memory of a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "launcher/os/descendants.hpp"
#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class SlurmLeftovers : public OnTestCluster, public UnderBothTrackers {
 protected:
  static void SetUpTestSuite() {
    start_cluster({"--nodes", "2", "--cpus", "2", "--user", "alice"});
  }
  void arrange() override {
    std::filesystem::permissions(work_->path(), std::filesystem::perms::all);
    work_->before = cluster_->login("alice");
  }
  void TearDown() override {
    if (!work_) return;
    work_->wait(0s);
    cluster_->on_head({"scancel", "--user=alice"});
    for (const pid_t pid : workers()) kill(pid, SIGKILL);
  }

  /// Starts ranks that start a worker each, and then do as `then` says.
  void start_ranks(const std::string& then) {
    work_->file("rank.sh", R"(
exec 9>> gpu-$RANK
flock -n 9 || { echo "another process holds the GPU"; exit 3; }
if [ -e was-$RANK ]; then echo "has the GPU"; exit 0; fi
touch was-$RANK
(env -i setsid -f bash -c "trap '' TERM; touch ready-$RANK; exec sleep 987654")
until [ -e ready-$RANK ]; do sleep 0.05; done
)" + then + "\n");
    const auto job = work_->file("job.yaml",
                                 "name: leaves\n"
                                 "resources: {nodes: 2, ranks_per_node: 1, device: cpu, time: 5}\n"
                                 "recovery: {max_restarts: 1, grace_seconds: 5}\n"
                                 "run: [bash, rank.sh]\n");
    work_->start({"run", job, "--run-dir", work_->run_dir()});
  }

  /// The workers that run, on whatever node.
  static std::vector<pid_t> workers() {
    auto pids = pids_here();
    std::erase_if(pids, [](pid_t pid) {
      std::ostringstream text;  // an iterator would throw if the process ends at this moment
      text << std::ifstream("/proc/" + std::to_string(pid) + "/cmdline").rdbuf();
      return text.str().find("987654") == std::string::npos || is_zombie(pid);
    });
    return pids;
  }
};

TEST_P(SlurmLeftovers, AreGoneOnEveryNodeWhenTheRanksStartAgainAndAfterTheEnd) {
  start_ranks("if [ $RANK = 1 ]; then kill -9 $$; fi; sleep 600");
  const auto ended = work_->wait(60s);
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  for (const auto* log : {"run/out/rank-0000-n1.log", "run/out/rank-0001-n2.log"})
    EXPECT_THAT(work_->text_of(log), HasSubstr("has the GPU\n")) << log;
  EXPECT_TRUE(happens_within(10s, [] { return workers().empty(); }));
}

TEST_P(SlurmLeftovers, AreGoneOnEveryNodeAfterACancel) {
  start_ranks("sleep 600");
  ASSERT_TRUE(happens_within(60s, [] { return workers().size() == 2; }));
  Workplace other(cluster_->share() + "/cancel");
  other.before = work_->before;
  EXPECT_EQ(other.run({"cancel", work_->run_dir()}).exit_code, 0);
  EXPECT_TRUE(happens_within(20s, [] { return workers().empty(); }));
}

INSTANTIATE_TEST_SUITE_P(Linuxproc, SlurmLeftovers, testing::Values(0));
INSTANTIATE_TEST_SUITE_P(Cgroup, SlurmLeftovers, testing::Values(0));

}  // namespace
}  // namespace dllaunch

// Ranks that hang or die, on a real Slurm: where each of them was is told while they hang, and kept
// before they are ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    time.sleep(1000)

def barrier():
    waiting = socket.socket()
    waiting.bind(("127.0.0.1", 0))
    waiting.listen()
    print("waits", flush=True)
    waiting.accept()

loader() if os.environ["RANK"] == "2" else barrier()
)";

/// As an ordinary user, to whom no process of others is readable.
class SlurmStacks : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = std::make_unique<TestCluster>(
        std::vector<std::string>{"--nodes", "2", "--cpus", "2", "--user", "alice"});
  }
  static void TearDownTestSuite() { cluster_.reset(); }
  void SetUp() override {
    if (cluster_->cannot_run_here()) GTEST_SKIP() << cluster_->why_not();
    ASSERT_TRUE(cluster_->up()) << cluster_->why_not();
    if (std::system("/usr/bin/python3 -c ''") != 0) GTEST_SKIP() << "no /usr/bin/python3";
    work_ = std::make_unique<Workplace>(
        cluster_->share() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::permissions(work_->path(), fs::perms::all);
    work_->before = cluster_->login("alice");
    work_->environment = {{"TERM", "dumb"}, {"XDG_CACHE_HOME", work_->path() + "/cache"}};
  }

  /// Four ranks of a Python program on two nodes.
  void start(const std::string& program, int minutes, const std::string& more = "") {
    work_->file("hang.py", program);
    const auto job = work_->file(
        "job.yaml", fmt::format("name: hang\nresources: {{nodes: 2, ranks_per_node: 2, device: "
                                "cpu, time: {}}}\n{}run: [/usr/bin/python3, hang.py]\n",
                                minutes, more));
    work_->start({"run", job, "--run-dir", work_->run_dir()});
  }
  bool all_wait() {
    return happens_within(60s, [&] {
      int waiting = 0;
      for (const auto& entry : entries_of(work_->run_dir() + "/out"))
        waiting += work_->text_of("run/out/" + entry).find("waits") != std::string::npos ? 1 : 0;
      return waiting == 3 || !work_->running();
    });
  }
  /// Of a second `dllaunch`, as from another terminal.
  Ended ask(const std::vector<std::string>& argv) const {
    Workplace terminal(work_->path() + "/terminal");
    terminal.before = work_->before;
    terminal.environment = work_->environment;
    return terminal.run(argv);
  }

  static std::unique_ptr<TestCluster> cluster_;
  std::unique_ptr<Workplace> work_;
};

std::unique_ptr<TestCluster> SlurmStacks::cluster_;

TEST_F(SlurmStacks, OfAHangAreShownAndThenKeptBeforeItsEnd) {
  start(hang, 5, "runtime: {stall_seconds: 1, stall_abort_seconds: 10}\n");
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
  EXPECT_THAT(work_->text_of("run/slurm-" + work_->job_id() + ".out"),
              ContainsRegex("dllaunch: " + odd + "; autopsy/.*txt has the stacks"));
  const auto status = ask({"status", work_->run_dir()});
  EXPECT_THAT(status.out,
              ContainsRegex("stacks +" + odd + " \\(no progress for .* s\\): autopsy/"));
  ASSERT_EQ(ask({"report", work_->run_dir(), "--html"}).exit_code, 0);
  EXPECT_EQ(unexplained_files(work_->run_dir()), std::vector<std::string>());
}

TEST_F(SlurmStacks, OfARankThatDiesOfASignalAreInItsLog) {
  start(
      "import os, signal\n\ndef breaks():\n    os.kill(os.getpid(), signal.SIGSEGV)\n\nbreaks()\n",
      5);
  const auto ended = work_->wait(60s);
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, HasSubstr("hang.py\", line 4 in breaks"));
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

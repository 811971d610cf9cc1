// A training that hangs, as its user sees it: the real dllaunch, mpirun and trainer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <set>

#include "launcher/os/descendants.hpp"
#include "launcher/os/posix_system.hpp"
#include "tests/end_to_end/launched.hpp"
#include "tests/end_to_end/local_run.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* long_job = R"(name: hangs
resources: {ranks_per_node: 2, device: cpu}
train:
  model: lenet
  dataset: {kind: synthetic, images: 20000}
  batch_size: 16
  epochs: 1000
runtime: {stall_seconds: 1}
)";

class StalledRun : public testing::Test {
 protected:
  void SetUp() override {
    if (!PosixSystem(Console{}).find_program("mpirun")) GTEST_SKIP() << "no mpirun on this machine";
    // A private TMPDIR: leftovers in it are ours.
    fs::create_directories(work_.path() + "/tmp");
    work_.environment = {{"TMPDIR", work_.path() + "/tmp"}};
  }

  /// The start of the ranks has to fit into that limit too.
  void start(const std::string& abort_seconds = "12") {
    work_.start({"run", work_.file("job.yaml", long_job), "--local", "--run-dir", work_.run_dir(),
                 "--set", "runtime.stall_abort_seconds=" + abort_seconds});
    const auto trains = [this] { return events_of(work_.run_dir(), "step").size() > 3; };
    ASSERT_TRUE(happens_within(60s, [&] { return trains() || !work_.running(); }) && trains());
    scratch_ = scratch_of(work_.run_dir());
    EXPECT_FALSE(scratch_.empty()) << "this test looks in the wrong place";
  }
  void hurt(int rank, int signal) {
    const auto processes = processes_of(work_.run_dir(), rank);
    ASSERT_EQ(processes.size(), 1u);
    kill(processes[0], signal);
  }
  void expect_nothing_left() {
    EXPECT_TRUE(all_end(work_.run_dir())) << "processes of the run are left";
    for (const auto& folder : scratch_) EXPECT_FALSE(fs::exists(folder)) << folder;
    EXPECT_TRUE(entries_of(work_.path() + "/tmp").empty());
  }
  std::string host() const { return PosixSystem(Console{}).host_name(); }

  Workplace work_;
  std::set<std::string> scratch_;
};

TEST_F(StalledRun, IsToldOnTheTerminalAndEndsWithNothingLeft) {
  start();
  hurt(0, SIGSTOP);
  const auto stalls = [this] { return events_of(work_.run_dir(), "stall"); };
  ASSERT_TRUE(happens_within(10s, [&] { return !stalls().empty(); }));
  const auto first = stalls().front();
  EXPECT_EQ(first["late_ranks"], Json::array({0}));
  EXPECT_THAT(first["collective"], HasSubstr("#"));
  EXPECT_GE(first["seconds"], 1);
  EXPECT_EQ(first["state"], "late") << "told before the run is given up";

  const auto ended = work_.wait(40s);
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  const std::string who = "rank 0 on " + host() + " is stopped (";
  EXPECT_THAT(ended.err, HasSubstr("late: " + who));
  EXPECT_THAT(ended.err, testing::ContainsRegex("dllaunch: first error: stall: .*" + host() +
                                                " is stopped .*gave up after "));
  EXPECT_THAT(ended.err, testing::ContainsRegex("\ndllaunch: rank 0 on " + host() +
                                                " held up the others for [0-9]+ s in all_reduce"))
      << "and not first who gave up";
  EXPECT_THAT(ended.err, HasSubstr("  try: see what the ranks it names wait for"));
  const auto summary = Json::parse(work_.text_of("run/summary.json"), nullptr, false);
  EXPECT_EQ(summary["status"], "failed");
  EXPECT_EQ(summary["stalls"], 1);
  EXPECT_EQ(stalls().back()["state"], "gave up");
  expect_nothing_left();
}

TEST_F(StalledRun, ThatGoesOnInTimeIsNoFailure) {
  start("300");
  hurt(1, SIGSTOP);
  const auto state = [this](const std::string& wanted) {
    const auto stalls = events_of(work_.run_dir(), "stall");
    return !stalls.empty() && stalls.back()["state"] == wanted;
  };
  ASSERT_TRUE(happens_within(10s, [&] { return state("late"); }));
  hurt(1, SIGCONT);
  EXPECT_TRUE(happens_within(10s, [&] { return state("over"); }));
  work_.signal(SIGINT);
  const auto ended = work_.wait(60s);
  EXPECT_EQ(ended.exit_code, 130) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(" continued after "));
  EXPECT_THAT(ended.out + ended.err, HasSubstr(", stalls 1"));
  EXPECT_THAT(ended.err, testing::Not(HasSubstr(" died")));
  expect_nothing_left();
}

TEST_F(StalledRun, ASignalAtAnyInstructionOfAStepDoesNoHarm) {
  start();
  // The signal that asks a rank for its stack; without a request it does nothing.
  const auto end = std::chrono::steady_clock::now() + 4s;
  while (std::chrono::steady_clock::now() < end) {
    for (const int rank : {0, 1}) hurt(rank, SIGRTMAX - 1);
  }
  work_.signal(SIGINT);
  const auto ended = work_.wait(60s);
  EXPECT_EQ(ended.exit_code, 130) << ended.err;
  EXPECT_THAT(ended.err, testing::Not(HasSubstr(" died")));
  expect_nothing_left();
}

TEST_F(StalledRun, ADeathIsToldWithWhereItHappened) {
  start();
  hurt(1, SIGKILL);
  const auto ended = work_.wait(40s);
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.err, testing::ContainsRegex("rank 1 on " + host() +
                                                " died( of SIGKILL)? in [a-z ]+, step [0-9]+"));
  expect_nothing_left();
}

TEST_F(StalledRun, ItsMpirunKilledLeavesNothing) {
  start();
  hurt(0, SIGSTOP);
  for (const pid_t pid : processes_of(work_.run_dir())) {
    if (!variable_of(pid, "OMPI_COMM_WORLD_RANK")) kill(pid, SIGKILL);
  }
  const auto ended = work_.wait(40s);
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  expect_nothing_left();
}

}  // namespace
}  // namespace dllaunch

// A job on this machine without mpirun: dllaunch starts the ranks itself.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <thread>

#include "launcher/os/descendants.hpp"
#include "tests/end_to_end/local_run.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

/// Makes a link in the folder to each program on PATH but MPI's.
void link_programs_without_mpi(const std::string& folder) {
  std::istringstream path(std::getenv("PATH"));
  for (std::string each; std::getline(path, each, ':');) {
    for (const auto& name : entries_of(each)) {
      const bool mpi = name.starts_with("mpirun") || name.starts_with("mpiexec") ||
                       name.starts_with("orte") || name.starts_with("prte");
      std::error_code there_already;
      if (!mpi) fs::create_symlink(fs::path(each) / name, fs::path(folder) / name, there_already);
    }
  }
}

class LocalSpawn : public LocalRun {
 protected:
  static void SetUpTestSuite() {
    programs_ = std::make_unique<TemporaryFolder>();
    link_programs_without_mpi(programs_->path());
  }
  static void TearDownTestSuite() { programs_.reset(); }
  void SetUp() override { work_.environment = {{"PATH", programs_->path()}}; }

  /// Returns those of the newest checkpoint.
  static std::string weights_in(const std::string& run_dir) {
    const auto newest = events_of(run_dir, "checkpoint").back()["path"].get<std::string>();
    std::ifstream file(newest + "/model.safetensors", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static std::unique_ptr<TemporaryFolder> programs_;
};

std::unique_ptr<TemporaryFolder> LocalSpawn::programs_;

TEST_F(LocalSpawn, TrainsToTheWeightsOfMpirun) {
  // Each rank computes alone, so that nothing but the transport differs.
  work_.environment.emplace_back("OMP_NUM_THREADS", "1");
  const auto ended = work_.run(args(job()));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(unexplained_files(work_.run_dir()), std::vector<std::string>());
  EXPECT_EQ(entries_of(work_.run_dir() + "/out").size(), 3u);  // two ranks and their starter
  EXPECT_EQ(events_of(work_.run_dir(), "start").back()["transport"], "tcp");
  EXPECT_THAT(log_of(0), HasSubstr("2 ranks, hierarchical over tcp, global batch 32"));
  EXPECT_EQ(summary()["status"], "completed");
  expect_nothing_left();
  const auto ours = weights_in(work_.run_dir());
  EXPECT_GT(ours.size(), 10'000u);

  work_.environment = {{"OMP_NUM_THREADS", "1"}};
  if (!PosixSystem(Console{}).find_program("mpirun")) GTEST_SKIP() << "no mpirun to compare with";
  const auto other = work_.path() + "/mpirun";
  const auto by_mpirun = work_.run({"run", job(), "--local", "--run-dir", other});
  ASSERT_EQ(by_mpirun.exit_code, 0) << by_mpirun.err;
  EXPECT_EQ(events_of(other, "start").back()["transport"], "mpi");
  EXPECT_EQ(weights_in(other), ours);
}

TEST_F(LocalSpawn, ACommandGetsItsRanksAndIsBoundAsThePlanSays) {
  const auto ended =
      work_.run(args(command("echo $RANK of $WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT; "
                             "grep -w Cpus_allowed_list /proc/self/status")));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  expect_books_of_two_ranks("kernel");
  EXPECT_EQ(unexplained_files(work_.run_dir()), std::vector<std::string>());
  const auto plan = Json::parse(work_.text_of("run/plan.json"));
  std::string place;
  for (int rank = 0; rank < 2; ++rank) {
    const auto& planned = plan["binding"]["ranks"][static_cast<std::size_t>(rank)];
    const auto log = log_of(rank);
    EXPECT_THAT(log, HasSubstr(std::to_string(rank) + " of 2 at localhost:"));
    EXPECT_THAT(log, HasSubstr("Cpus_allowed_list:\t" + planned["cpus"].get<std::string>() + "\n"));
    const auto at = log.find(" at ");
    const auto here = log.substr(at, log.find('\n') - at);
    EXPECT_TRUE(place.empty() || place == here) << place << " and" << here;
    place = here;
  }
}

TEST_F(LocalSpawn, AKilledRankEndsAllAndIsNamed) {
  kill_a_rank();
}

TEST_F(LocalSpawn, RanksOwnCodesPassThrough) {
  for (const auto& [code, expected] :
       std::vector<std::pair<int, int>>{{2, 2}, {3, 3}, {93, 93}, {7, 1}}) {
    fs::remove_all(work_.run_dir());
    const auto ended = work_.run(args(command("[ $RANK = 0 ] || { echo last words; exit " +
                                              std::to_string(code) + "; }; sleep 100")));
    EXPECT_EQ(ended.exit_code, expected) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("exited with code " + std::to_string(code)));
    EXPECT_THAT(ended.err, HasSubstr("    | last words"));
    expect_nothing_left();
  }
}

TEST_F(LocalSpawn, InterruptedSavesAndLeavesNothing) {
  work_.start(args(job(), long_run_));
  ASSERT_TRUE(steps_were_made());
  work_.signal(SIGINT);
  const auto ended = work_.wait(60s);
  EXPECT_EQ(ended.exit_code, 130) << ended.err;
  EXPECT_EQ(events_of(work_.run_dir(), "end").back()["status"], "cancelled");
  const auto checkpoint = events_of(work_.run_dir(), "checkpoint").back();
  EXPECT_GE(checkpoint["step"], events_of(work_.run_dir(), "step").back()["step"]);
  EXPECT_TRUE(fs::exists(checkpoint["path"].get<std::string>() + "/model.safetensors"));
  EXPECT_EQ(summary()["status"], "cancelled");
  expect_nothing_left();
}

TEST_F(LocalSpawn, TheSecondSignalEndsAStubbornCommandNow) {
  work_.start(args(command("trap : USR2 TERM; while :; do sleep 0.1; done"),
                   {"--set", "recovery.grace_seconds=300"}));
  ASSERT_TRUE(rank_is_there(1));
  work_.signal(SIGTERM);
  std::this_thread::sleep_for(500ms);
  work_.signal(SIGTERM);
  EXPECT_EQ(work_.wait(30s).exit_code, 143);
  expect_nothing_left();
}

TEST_F(LocalSpawn, KilledItTakesItsRanksAlong) {
  work_.start(args(command("sleep 300")));
  ASSERT_TRUE(rank_is_there(1));
  work_.signal(SIGKILL);
  work_.wait();
  EXPECT_TRUE(all_end(work_.run_dir()));
}

/// As in a shell below an mpirun, srun and torchrun.
TEST_F(LocalSpawn, VariablesOfOtherLaunchersDoNotCount) {
  work_.environment.insert(work_.environment.end(), {{"OMPI_COMM_WORLD_RANK", "5"},
                                                     {"OMPI_COMM_WORLD_SIZE", "6"},
                                                     {"PMIX_NAMESPACE", "other"},
                                                     {"SLURM_PROCID", "3"},
                                                     {"SLURM_STEP_ID", "0"},
                                                     {"TORCHELASTIC_RUN_ID", "old"},
                                                     {"RANK", "17"}});
  const auto ended = work_.run(args(command("echo I am $RANK of $WORLD_SIZE")));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_THAT(log_of(rank), HasSubstr("I am " + std::to_string(rank) + " of 2\n"));
}

TEST_F(LocalSpawn, WhatNeedsMpiIsRefusedBeforeAnythingStarts) {
  for (const char* key : {"framework=mpi", "runtime.transport=mpi"}) {
    const auto ended = work_.run(args(command("true"), {"--set", key}));
    EXPECT_EQ(ended.exit_code, 3) << key;
    EXPECT_THAT(ended.err, HasSubstr("mpirun is not installed"));
    EXPECT_FALSE(fs::exists(work_.run_dir()));
  }
}

/// Both have ended when the starter looks: the peer's error is the echo.
TEST_F(LocalSpawn, OfTwoDeathsTheSignalIsTheCause) {
  work_.start({"spawn", "--np", "2", "--", "bash", "-c",
               "echo $$ >rank-$RANK; [ $RANK = 1 ] && exec sleep 300; "
               "until [ -e failed ]; do sleep 0.01; done; exit 1"});
  ASSERT_TRUE(happens_within(60s, [&] { return !work_.text_of("rank-1").empty(); }));
  kill(work_.pid(), SIGSTOP);
  kill(std::stoi(work_.text_of("rank-1")), SIGKILL);
  work_.file("failed", "");
  const bool both = happens_within(60s, [&] {
    return std::ranges::count_if(descendants_of(work_.pid()), &Descendant::zombie) == 2;
  });
  kill(work_.pid(), SIGCONT);
  ASSERT_TRUE(both);
  const auto ended = work_.wait();
  EXPECT_EQ(ended.exit_code, 137);
  EXPECT_THAT(ended.err, HasSubstr("dllaunch: rank 1 on "));
  EXPECT_THAT(ended.err, HasSubstr(" was killed by signal 9 (SIGKILL)\n"));
}

TEST_F(LocalSpawn, TheBenchmarkMeasures) {
  const auto ended = work_.run({"bench", "allreduce", "--max-bytes", "8"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("all-reduce: hierarchical, 2 ranks"));
}

/// With mpirun at hand.
TEST_F(LocalRun, TheKeyDecidesHowRanksStart) {
  const auto ended = work_.run(args(job(), {"--set", "runtime.transport=tcp"}));
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(events_of(work_.run_dir(), "start").back()["transport"], "tcp");
  EXPECT_FALSE(fs::exists(work_.run_dir() + "/out/mpirun.log"));
}

}  // namespace
}  // namespace dllaunch

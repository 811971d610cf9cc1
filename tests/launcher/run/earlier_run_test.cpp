// Files that the programs of commit 9192368 wrote are read as what they were: a run on Slurm of two
// ranks and eight epochs, one of whose ranks was killed once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launcher/os/posix_system.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/run/stored_run.hpp"
#include "launcher/run/summary.hpp"
#include "runtime/rank/run_ownership.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

class EarlierRun : public testing::Test {
 protected:
  EarlierRun() {
    fs::copy(DLLAUNCH_SOURCE_DIR "/tests/fixtures/runs/9192368", folder_.path() + "/run",
             fs::copy_options::recursive);
    run_.path = folder_.path() + "/run";
  }

  TemporaryFolder folder_;
  RunDir run_;
  PosixSystem system_{Console{}};
};

TEST_F(EarlierRun, PlanIsRead) {
  const auto run = read_stored_run(system_, run_.path);
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_EQ(run->plan.name, "before");
  EXPECT_EQ(run->plan.launcher, Launcher::slurm);
  EXPECT_EQ(run->plan.ranks(), 2);
  EXPECT_EQ(run->plan.signal, "USR2");
  EXPECT_EQ(run->plan.grace_seconds, 120);
  EXPECT_EQ(run->job_id, "4");
  EXPECT_EQ(run->epochs, 8);
  EXPECT_TRUE(run->trains);
}

/// Its `srun` was one list of words; a supervisor of today starts the same command.
TEST_F(EarlierRun, StartCommandIsTheSame) {
  std::ifstream in(run_.plan_json());
  const Json written = Json::parse(std::string(std::istreambuf_iterator<char>(in), {}));
  EXPECT_EQ(to_json(plan_from_json(written))["srun"], written["srun"]);
}

TEST_F(EarlierRun, JournalIsRead) {
  const Journal journal = read_journal(run_);
  ASSERT_EQ(journal.history.size(), 2u);
  EXPECT_EQ(journal.history[0].cause, Cause::failed);
  EXPECT_EQ(journal.history[0].job, "4");
  EXPECT_EQ(journal.history[0].dead.rank, 0);
  EXPECT_TRUE(journal.history[0].new_checkpoint);
  EXPECT_EQ(journal.history[1].cause, Cause::completed);
  ASSERT_TRUE(journal.last);
  EXPECT_TRUE(journal.decided);
  EXPECT_EQ(journal.last->next, Next::stop);
  EXPECT_EQ(journal.last->status, RunStatus::completed);
  EXPECT_EQ(restarts_in(journal, "4"), 1);
  EXPECT_EQ(finished_in_job(run_), "4");
}

TEST_F(EarlierRun, EventsAreRead) {
  RunTotals totals;
  std::ifstream in(run_.events());
  int unread = 0;
  for (std::string line; std::getline(in, line);) {
    const auto event = parse_event(line);
    event ? static_cast<void>(totals.take(*event)) : static_cast<void>(++unread);
  }
  EXPECT_EQ(unread, 0);
  EXPECT_EQ(totals.epochs(), 8);
  EXPECT_EQ(totals.restarts(), 1);
  EXPECT_EQ(totals.end_status(), "completed");
}

/// An incarnation of today fences those before it.
TEST_F(EarlierRun, OwnershipIsTakenOver) {
  const auto owner = run_owner(run_.path);
  ASSERT_TRUE(owner);
  ASSERT_TRUE(*owner);
  EXPECT_EQ((*owner)->first, 2);
  EXPECT_EQ((*owner)->second.host, "n1");
  EXPECT_EQ((*owner)->second.job, "4");
  const auto taken = RunOwnership::take(run_.path, {.host = "n2"});
  ASSERT_TRUE(taken) << taken.error().what;
  EXPECT_EQ(taken->fencing_token(), 3);
}

}  // namespace
}  // namespace dllaunch

#include "launcher/components/component_end.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launcher/base/exit_code.hpp"
#include "launcher/os/posix_system.hpp"
#include "launcher/run/journal.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

class ComponentEnds : public testing::Test {
 protected:
  ComponentEnds() {
    whole_.components = {{.name = "loader"}, {.name = "trainer", .ends_job = true}};
    whole_.paths.run_dir = folder_.path();
  }

  void decide(const std::string& name, const JournalDecision& decision) {
    const RunDir run{.path = component_dir(folder_.path(), name)};
    std::filesystem::create_directories(run.path);
    ASSERT_TRUE(append_to_journal(run, line_of(decision, std::nullopt)));
  }

  ComponentsEnd end(std::vector<std::optional<int>> codes, std::optional<std::size_t> decided,
                    const std::vector<std::string>& jobs = {"12", "13"}) {
    return end_of_components(system_, whole_, codes, decided, jobs);
  }

  PosixSystem system_{Console{}};
  TemporaryFolder folder_;
  RunOutline whole_;
};

TEST_F(ComponentEnds, Completed) {
  EXPECT_EQ(end({0, 0}, std::nullopt).exit_code, 0);
  const auto ended = end({1, 0}, 1);
  EXPECT_EQ(ended.status, RunStatus::completed);
  EXPECT_EQ(ended.exit_code, 0) << "the loader was told to stop";
  EXPECT_EQ(ended.reason, "component trainer has completed");
}

TEST_F(ComponentEnds, WhatFailedBesideIsTold) {
  decide("loader", {.time = 1, .job = "12", .reason = "asked", .status = RunStatus::cancelled});
  EXPECT_EQ(end({1, 0}, 1).beside, "");
  decide("loader", {.time = 2, .job = "12", .reason = "rank 0 on n3 exited with code 7"});
  const auto ended = end({7, 0}, 1);
  EXPECT_EQ(ended.status, RunStatus::completed);
  EXPECT_EQ(ended.beside, "component loader failed: rank 0 on n3 exited with code 7");
}

TEST_F(ComponentEnds, TheSupervisorSaysWhy) {
  decide("trainer", {.time = 1, .job = "13", .reason = "rank 0 on n3 exited with code 7"});
  const auto ended = end({1, 7}, 1);
  EXPECT_EQ(ended.status, RunStatus::failed);
  EXPECT_EQ(ended.reason, "component trainer: rank 0 on n3 exited with code 7");
  EXPECT_NE(ended.exit_code, 0);
  EXPECT_EQ(ended.next, Next::stop);
}

TEST_F(ComponentEnds, ARequeueIsOfTheWhole) {
  decide("loader", {.time = 1,
                    .job = "12",
                    .next = Next::requeue,
                    .reason = "was preempted by another job; requeueing",
                    .status = RunStatus::preempted});
  const auto ended = end({1, 1}, std::nullopt);
  EXPECT_EQ(ended.next, Next::requeue);
  EXPECT_EQ(ended.status, RunStatus::preempted);
  EXPECT_FALSE(ended.ask_slurm);
  const auto asked = end({exit_code::requeue_whole, 1}, 0);
  EXPECT_TRUE(asked.ask_slurm);
  EXPECT_EQ(asked.exit_code, 1);
}

TEST_F(ComponentEnds, AnotherJobsJournalAndNone) {
  decide("trainer", {.time = 1, .job = "5", .reason = "long ago"});
  const auto output = component_dir(folder_.path(), "trainer") + "/slurm-13.out";
  std::ofstream(output) << "begins\nOOPS\n\n";
  EXPECT_EQ(end({1, 3}, 1).reason,
            "component trainer: its script exited with code 3; see " + output + ": OOPS");
  EXPECT_EQ(end({4, 0}, 0).reason, "component loader: its script exited with code 4; see " +
                                       folder_.path() + "/slurm-12.out");
}

TEST_F(ComponentEnds, LocallyTheSummarySaysWhy) {
  const auto dir = component_dir(folder_.path(), "loader");
  std::filesystem::create_directories(dir);
  std::ofstream(dir + "/plan.json") << R"({"name": "x", "launcher": "local"})";
  std::ofstream(dir + "/summary.json")
      << R"({"status": "failed", "reason": "rank 0 exited with code 9",
    "first_error": "ValueError: bad"})";
  const auto ended = end({1, 130}, 0, {});
  EXPECT_EQ(ended.status, RunStatus::failed);
  EXPECT_EQ(ended.reason, "component loader: rank 0 exited with code 9 (ValueError: bad)");
}

}  // namespace
}  // namespace dllaunch

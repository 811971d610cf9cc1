#include "launcher/monitor/component_states.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launcher/os/posix_system.hpp"
#include "launcher/run/journal.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

class ComponentStates : public testing::Test {
 protected:
  ComponentStates() {
    whole_.run.dir.path = folder_.path();
    whole_.run.plan.launcher = Launcher::slurm;
    whole_.run.plan.components = {{.name = "loader"}, {.name = "trainer"}};
    add("loader", "12");
    add("trainer", "13");
  }

  void add(const std::string& name, const std::string& job) {
    const auto dir = component_dir(folder_.path(), name);
    std::filesystem::create_directories(dir + "/out");
    std::ofstream(dir + "/plan.json")
        << R"({"name": "x", "launcher": "slurm", "sbatch": {"--job-name": "x-)" << name << "\"}}";
    std::ofstream(dir + "/job.id") << job << "\n";
  }

  void decide(const std::string& name, const JournalDecision& decision) {
    const RunDir run{.path = component_dir(folder_.path(), name)};
    ASSERT_TRUE(append_to_journal(run, line_of(decision, std::nullopt)));
  }

  std::vector<std::string> lines() { return lines_of(component_states(system_, whole_, 0)); }

  PosixSystem system_{Console{}};
  TemporaryFolder folder_;
  RunState whole_{.run = {}, .state = "running"};
};

TEST_F(ComponentStates, AreThoseOfTheirOwnJobs) {
  whole_.jobs = parse_queue(
      "12+1|RUNNING|N/A|0:05|n[3-4]|None||x-trainer|/x/job.sbatch\n"
      "12+0|RUNNING|N/A|0:05|n1|None||x-loader|/x/job.sbatch\n");
  EXPECT_THAT(lines(),
              testing::ElementsAre("loader   running on n1", "trainer  running on n[3-4]"));
}

TEST_F(ComponentStates, PendWithTheWhole) {
  whole_.state = "pending";
  EXPECT_THAT(lines(), testing::ElementsAre("loader   pending", "trainer  pending"));
}

TEST_F(ComponentStates, SayWhyTheyEnded) {
  whole_.state = "failed";
  decide("loader", {.job = "12", .reason = "asked to stop", .status = RunStatus::cancelled});
  decide("trainer", {.job = "13", .reason = "rank 0 on n3 exited with code 7"});
  EXPECT_THAT(lines(), testing::ElementsAre("loader   cancelled: asked to stop",
                                            "trainer  failed: rank 0 on n3 exited with code 7"));
  whole_.state = "completed";
  EXPECT_EQ(lines()[0], "loader   stopped: the job was over");
  const auto json = to_json(component_states(system_, whole_, 0));
  EXPECT_EQ(json[1]["state"], "failed");
}

// Its supervisor never began.
TEST_F(ComponentStates, AFailedScriptIsToldByTheWhole) {
  whole_.state = "failed";
  whole_.run.job_id = "12";
  ASSERT_TRUE(append_to_journal(
      whole_.run.dir,
      line_of({.job = "12", .reason = "component trainer: its script exited with code 1"},
              std::nullopt)));
  EXPECT_EQ(lines()[1], "trainer  failed: its script exited with code 1");
}

}  // namespace
}  // namespace dllaunch

#include "launcher/slurm/plain_query.hpp"

#include <gmock/gmock.h>

#include "launcher/slurm/client.hpp"
#include "launcher/slurm/job_usage.hpp"
#include "launcher/slurm/queue_rows.hpp"
#include "launcher/slurm/slurm_job.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;

TEST(PlainQuery, IsWithoutTheSettingsOfTheUser) {
  FakeSystem system;
  EXPECT_THAT(plain_query(system, {"squeue", "--me"}), ElementsAre("squeue", "--me"));
  system.variables = {{"SQUEUE_STATES", "RUNNING"}, {"SLURM_TIME_FORMAT", "relative"}};
  EXPECT_THAT(plain_query(system, {"squeue"}),
              ElementsAre("env", "-u", "SLURM_TIME_FORMAT", "-u", "SQUEUE_STATES", "squeue"));
}

TEST(PlainQuery, IsWhatReadersOfSlurmAsk) {
  FakeSystem system;
  system.programs = {"sacct", "scontrol"};
  system.variables = {{"SLURM_TIME_FORMAT", "relative"}};
  EXPECT_FALSE(whole_queue(system, std::chrono::seconds(1)));
  EXPECT_FALSE(usage_of_job(system, "5").peak_task_bytes);
  EXPECT_FALSE(finished_job(system, "5"));
  EXPECT_EQ(topology_text(system), "");
  ASSERT_GE(system.ran.size(), 4u);
  for (auto argv : system.ran) {
    argv.resize(3);
    EXPECT_THAT(argv, ElementsAre("env", "-u", "SLURM_TIME_FORMAT"));
  }
}

}  // namespace
}  // namespace dllaunch

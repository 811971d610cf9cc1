#include "launcher/launch/held_allocation.hpp"

#include <gmock/gmock.h>

#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HeldAllocation, AsksForWhatTheWidestRunAsksForAndStartsTheCommand) {
  auto job = run_job();
  job.resources.nodes = 2;
  job.resources.time = "5";
  const HeldAllocation held{.plan = planned(job, small_cluster()),
                            .name = "j-study",
                            .dir = "/runs/it's/allocation",
                            .command = {"dllaunch", "study", "j b.yaml"}};
  const auto script = render_held(held);
  EXPECT_THAT(script, HasSubstr("#SBATCH --job-name=j-study\n"));
  EXPECT_THAT(script, HasSubstr("#SBATCH --nodes=2\n"));
  EXPECT_THAT(script, HasSubstr("#SBATCH --time=5\n"));
  EXPECT_THAT(script, HasSubstr("#SBATCH --signal=B:TERM@120\n"));
  EXPECT_THAT(script, HasSubstr("exec dllaunch study 'j b.yaml' 2>> '/runs/it'\\''s/allocation/"));
  EXPECT_THAT(script, Not(HasSubstr("srun")));
}

/// Slurm warns grace_seconds before the limit, and up to a minute earlier.
TEST(HeldAllocation, TheWarningIsNotTakenFromTheWork) {
  EXPECT_EQ(held_minutes(10, 120), 13);
  EXPECT_EQ(held_minutes(10, 1), 12);
  EXPECT_EQ(held_minutes(std::int64_t{1} << 40, 0), (std::int64_t{1} << 40) + 1);
}

}  // namespace
}  // namespace dllaunch

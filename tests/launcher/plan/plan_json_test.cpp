#include <gmock/gmock.h>

#include "launcher/plan/plan.hpp"
#include "support/json.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/support/golden.hpp"

namespace dllaunch {
namespace {

TEST(PlanJson, IsWhatTheContractSays) {
  auto job = run_job();
  job.resources.nodes = 2;
  EXPECT_TRUE(
      matches_golden("launcher/plan_lumi.json", to_json(planned(job, lumi_like())).dump(2) + "\n"));
}

TEST(PlanJson, LocallySrunIsEmptyAndMpirunHoldsTheCommand) {
  const auto made = planned(train_job(), one_machine("cores:2"));
  const auto document = to_json(made);
  EXPECT_EQ(document.at("launcher"), "local");
  EXPECT_EQ(document.at("srun"), Json::array());
  EXPECT_EQ(document.at("mpirun"), Json(made.start.argv()));
  EXPECT_EQ(document.at("sbatch"), Json::object());
}

TEST(PlanJson, KeepsWhatThePlacementWasAskedFor) {
  auto job = run_job();
  job.binding.mode = BindMode::numa;
  job.binding.cores = BindCores::fill;
  job.binding.order = RankOrder::numa;
  job.binding.smt = true;
  job.resources.cpus_per_rank = 2;
  const auto asked = to_json(planned(job, one_machine("cores:4 gpus:2"))).at("placement");
  EXPECT_EQ(asked.dump(),
            R"({"policy":"closest","mode":"numa","cores":"fill","order":"numa","gpus":2,)"
            R"("cores_per_rank":2,"smt":true,"reserve":"auto"})");
}

}  // namespace
}  // namespace dllaunch

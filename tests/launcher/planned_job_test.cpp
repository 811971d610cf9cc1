#include "launcher/planned_job.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/launcher/sample_plans.hpp"
#include "tests/support/fake_world.hpp"
#include "topology/synthetic.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

FakeWorld laptop() {
  FakeWorld world;
  world.node = *synthetic_topology("cores:2");
  world.files["job.yaml"] = "name: j\nresources: {ranks_per_node: 2}\nrun: [echo, hi]\n";
  world.files["small.json"] = to_json(small_cluster()).dump();
  return world;
}

TEST(PlannedJob, PlansForWhatIsHere) {
  auto world = laptop();
  const auto made = plan_job(world, {.job = "job.yaml"});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->launcher, Launcher::local);
  EXPECT_EQ(made->ranks(), 2);
  EXPECT_THAT(made->paths.run_dir, HasSubstr("/runs/j-"));
}

TEST(PlannedJob, PlansForAClusterThatIsNotHere) {
  auto world = laptop();
  const auto made =
      plan_job(world, {.job = "job.yaml", .sets = {"resources.nodes=2"}, .facts = "small.json"});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->launcher, Launcher::slurm);
  EXPECT_EQ(made->ranks(), 4);
  EXPECT_TRUE(world.ran.empty()) << "with --facts nothing is asked";
}

TEST(PlannedJob, LocallySlurmIsNotAsked) {
  auto world = laptop();
  world.programs = {"sinfo", "scontrol"};
  EXPECT_FALSE(plan_job(world, {.job = "job.yaml"})) << "its controller is silent";
  const auto made = plan_job(world, {.job = "job.yaml", .local = true});
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->launcher, Launcher::local);
}

TEST(PlannedJob, SaysWhatIsWrongWithItsFiles) {
  auto world = laptop();
  world.files["bad.json"] = "{";
  world.files["list.json"] = "[]";
  const auto problem = [&world](const char* job, const char* facts) {
    const auto made = plan_job(world, {.job = job, .facts = facts});
    EXPECT_FALSE(made);
    EXPECT_EQ(made.error().kind, ErrorKind::bad_request);
    return made.error().what;
  };
  EXPECT_THAT(problem("none.yaml", ""), HasSubstr("none.yaml"));
  EXPECT_THAT(problem("job.yaml", "none.json"), HasSubstr("none.json"));
  EXPECT_THAT(problem("job.yaml", "bad.json"), StartsWith("bad.json: it is JSON, but damaged"));
  EXPECT_THAT(problem("job.yaml", "list.json"), StartsWith("list.json: facts:"));
}

}  // namespace
}  // namespace dllaunch

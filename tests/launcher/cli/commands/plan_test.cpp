#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "launcher/cli/command_line.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/support/fake_world.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

/// Runs a command line as main() does, without the process.
Result<int> call(World& world, const std::vector<std::string>& args) {
  auto parsed = parse_command_line(args, [](const std::string&) { return false; });
  if (!parsed) return std::move(parsed).error();
  return std::get<Command>(*parsed).body(world);
}

FakeWorld laptop() {
  FakeWorld world;
  world.node = *synthetic_topology("cores:2");
  world.files["job.yaml"] = "name: j\nrun: [echo, hi]\n";
  world.files["lumi.json"] = to_json(lumi_like()).dump();
  return world;
}

TEST(PlanVerb, ShowsATableForPeople) {
  auto world = laptop();
  ASSERT_EQ(*call(world, {"plan", "job.yaml", "--set", "resources.ranks_per_node=2"}), 0);
  EXPECT_THAT(world.printed, HasSubstr("j: 2 ranks on this machine"));
  EXPECT_THAT(world.printed, HasSubstr("--np 2"));
  EXPECT_EQ(world.noted, "");
}

TEST(PlanVerb, PrintsOneJsonDocument) {
  auto world = laptop();
  ASSERT_EQ(*call(world, {"plan", "job.yaml", "--facts", "lumi.json", "--json"}), 0);
  const auto document = nlohmann::json::parse(world.printed);
  EXPECT_EQ(document.at("ranks"), 8);
  EXPECT_EQ(document.at("srun").at(0), "srun");
  EXPECT_EQ(document.at("sbatch").at("--gpus-per-node"), "8");
  EXPECT_EQ(document.at("binding").at("ranks").at(0).at("cpus"), "49-55");
}

TEST(PlanVerb, HandsErrorsOn) {
  auto world = laptop();
  const auto code = call(world, {"plan", "job.yaml", "--facts", "lumi.json", "--set",
                                 "resources.partition=standart-g"});
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().kind, ErrorKind::unsatisfiable);
  EXPECT_EQ(code.error().hint, "use standard-g");
}

}  // namespace
}  // namespace dllaunch

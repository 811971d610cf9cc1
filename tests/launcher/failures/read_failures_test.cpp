#include "launcher/failures/read_failures.hpp"

#include <gmock/gmock.h>

#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

TEST(ReadFailures, OfAClusterProfile) {
  FakeSystem system;
  const auto rates = read_failure_rates(system, "generic-nvidia");
  ASSERT_TRUE(rates) << rates.error().what;
  EXPECT_EQ(rates->node_mtbf_s, 6300 * 3600.0);
  EXPECT_EQ(rates->repair_s, 133 * 3600.0);
  EXPECT_EQ(rates->uneven_times, 0.5);
  EXPECT_EQ(rates->source, "cluster profile generic-nvidia");
}

TEST(ReadFailures, AProfileWithoutThemIsNoSource) {
  FakeSystem system;
  const auto rates = read_failure_rates(system, "lumi-g");
  ASSERT_FALSE(rates);
  EXPECT_EQ(rates.error().what, "cluster profile lumi-g does not say how often nodes fail");
  EXPECT_THAT(read_failure_rates(system, "atlantis").error().hint, HasSubstr("ends in .csv"));
}

TEST(ReadFailures, OfAFileOfOutages) {
  FakeSystem system;
  system.files["o.csv"] =
      "# nodes: 50\n# from: 0\n# until: 100\nnode,failed,repaired\nn1,20,21\nn2,60,61\n";
  const auto rates = read_failure_rates(system, "o.csv");
  ASSERT_TRUE(rates) << rates.error().what;
  EXPECT_NEAR(rates->node_mtbf_s / 86400, 2500, 400);
  EXPECT_EQ(rates->source, "o.csv: 2 failures of 50 nodes in 100 days");
  system.files["o.csv"] = "node,failed,repaired\nn1,20,19\n";
  EXPECT_THAT(read_failure_rates(system, "o.csv").error().what, HasSubstr("o.csv:2: "));
  system.files["o.csv"] = "node,failed,repaired\n";
  EXPECT_THAT(read_failure_rates(system, "o.csv").error().what, HasSubstr("o.csv: no node failed"));
  system.files["o.csv"] = "node,failed,repaired\nn1,1,1.001\nn1,1.002,1.003\nn1,1.01,1.02\n";
  EXPECT_THAT(read_failure_rates(system, "o.csv").error().what, HasSubstr("would fail every "));
  EXPECT_THAT(read_failure_rates(system, "missing.csv").error().hint, HasSubstr("forecast.md"));
}

}  // namespace
}  // namespace dllaunch

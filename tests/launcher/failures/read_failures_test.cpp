#include "launcher/failures/read_failures.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/nodes/node_witness.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

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

/// As the supervisor of a run writes it.
TEST(ReadFailures, OfTheNodeBookOfRuns) {
  const TemporaryFolder folder;
  FakeSystem system;
  EXPECT_THAT(read_failure_rates(system, "book").error().what, HasSubstr("no node book is kept"));
  system.variables = {{"XDG_STATE_HOME", folder.path()}, {"SLURM_CLUSTER_NAME", "c"}};
  EXPECT_THAT(read_failure_rates(system, "book").error().what,
              HasSubstr("/dllaunch/nodes.jsonl: the node book has no run yet"));
  NodeWitness witness(system, {.path = folder.path()}, "17", "");
  const double began = unix_seconds();
  witness.begins("n[1-4]", 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  witness.ended({.cause = Cause::lost_node, .detail = "n3"});
  if (unix_seconds() < began + 0.001) GTEST_SKIP() << "the clock was set back meanwhile";
  const auto rates = read_failure_rates(system, "book");
  ASSERT_TRUE(rates) << rates.error().what;
  EXPECT_THAT(rates->source, HasSubstr("node book: 1 failure in 0.0 node-minutes on 4 nodes"));
  EXPECT_GT(rates->node_mtbf_s, 0);
  EXPECT_TRUE(read_failure_rates(system, "book:c"));
  EXPECT_THAT(read_failure_rates(system, "book:d").error().hint, HasSubstr("book:c"));
  // The site's book, where the user names none.
  EXPECT_THAT(read_failure_rates(system, "book", "/none/of/it.jsonl").error().what,
              HasSubstr("/none/of/it.jsonl: the node book has no run yet"));
}

}  // namespace
}  // namespace dllaunch

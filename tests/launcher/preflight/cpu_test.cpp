#include <gmock/gmock.h>

#include "tests/launcher/preflight/node_samples.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

Json cpu(double gflops, double gb_per_s, double share = 1) {
  return {{"cpus", 8},
          {"gflops", gflops},
          {"gb_per_s", gb_per_s},
          {"share", share},
          {"sums_agree", true}};
}

TEST(PreflightCpu, NamesTheSlowNode) {
  EXPECT_EQ(
      judged("cpu", {},
             {sample("n1", cpu(20, 10)), sample("n2", cpu(7, 10)), sample("n3", cpu(21, 11))}),
      (Words{"n1 ok", "n2 fail: 7.0 GFLOP/s where the other nodes have 20.0", "n3 ok"}));
  EXPECT_EQ(
      judged("cpu", {},
             {sample("n1", cpu(20, 10)), sample("n2", cpu(20, 6)), sample("n3", cpu(20, 10))}),
      (Words{"n1 ok", "n2 warn: 6.0 GB/s of memory where the other nodes have 10.0", "n3 ok"}));
  EXPECT_EQ(judged("cpu", {}, {sample("n1", cpu(1, 1))}), Words{"n1 ok"})
      << "no other node to compare with";
}

/// Half the speed is what the other hardware thread of a core may cost.
TEST(PreflightCpu, DoesNotFailForANeighbour) {
  EXPECT_EQ(
      judged("cpu", {},
             {sample("n1", cpu(20, 10)), sample("n2", cpu(10, 5)), sample("n3", cpu(20, 10))}),
      (Words{"n1 ok", "n2 warn: 10.0 GFLOP/s where the other nodes have 20.0", "n3 ok"}));
}

TEST(PreflightCpu, NamesTheBusyNode) {
  EXPECT_EQ(judged("cpu", {},
                   {sample("n1", cpu(20, 10, 0.98)), sample("n2", cpu(20, 10, 0.05)),
                    sample("n3", cpu(20, 10, 0.97))}),
            (Words{"n1 ok", "n2 fail: other processes leave it 5 % of its CPUs", "n3 ok"}));
  EXPECT_EQ(judged("cpu", {},
                   {sample("n1", cpu(20, 10, 0.1)), sample("n2", cpu(20, 10, 0.1)),
                    sample("n3", cpu(20, 10, 0.1))}),
            (Words{"n1 warn: other processes leave it 10 % of its CPUs",
                   "n2 warn: other processes leave it 10 % of its CPUs",
                   "n3 warn: other processes leave it 10 % of its CPUs"}))
      << "where all are as busy it is no node's fault";
  EXPECT_EQ(judged("cpu", {}, {sample("n1", cpu(20, 10, 0.1))}),
            Words{"n1 warn: other processes leave it 10 % of its CPUs"})
      << "no other node to compare with";
}

TEST(PreflightCpu, LooksAtClocks) {
  auto stuck = cpu(20, 10);
  stuck["now_mhz"] = 800;
  stuck["most_mhz"] = 3500;
  EXPECT_EQ(judged("cpu", {}, {sample("n1", stuck)}),
            Words{"n1 fail: at work its clock is 800 MHz of 3500"});
  stuck["now_mhz"] = 2400;
  EXPECT_EQ(judged("cpu", {}, {sample("n1", stuck)}), Words{"n1 ok"});
  stuck["limit_mhz"] = 1200;
  EXPECT_EQ(judged("cpu", {}, {sample("n1", stuck)}),
            Words{"n1 warn: its clock is limited to 1200 MHz of 3500"});
  auto hot = cpu(20, 10);
  hot["throttled"] = 2;
  EXPECT_EQ(judged("cpu", {}, {sample("n1", hot)}),
            Words{"n1 warn: heat slowed it down while it was measured"});
}

TEST(PreflightCpu, ThatMiscalculatesFails) {
  auto broken = cpu(20, 10);
  broken["sums_agree"] = false;
  EXPECT_EQ(judged("cpu", {}, {sample("n1", broken)}),
            Words{"n1 fail: the same sum, computed twice, gave different results"});
}

TEST(PreflightCpu, IsMeasuredHere) {
  FakeSystem system;
  for (int i = 0; i < 1024; ++i)
    system.files["/sys/devices/system/cpu/cpu" + std::to_string(i) + "/cpufreq/cpuinfo_max_freq"] =
        "3500000\n";
  const PreflightRequest request;
  const auto seen = check_named("cpu").observe({request, system, "n1"}, "");
  ASSERT_TRUE(seen) << seen.error().what;
  EXPECT_EQ(number_of(*seen, "most_mhz"), 3500);
  EXPECT_FALSE(seen->contains("now_mhz"));
  EXPECT_GT(number_of(*seen, "gflops"), 0);
  EXPECT_TRUE(flag_of(*seen, "sums_agree"));
}

}  // namespace
}  // namespace dllaunch

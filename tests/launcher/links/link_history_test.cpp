#include "launcher/links/link_history.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "launcher/os/posix_system.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

std::vector<PastLinks> earlier(std::size_t count, std::size_t hosts = 8) {
  std::vector<PastLinks> past;
  for (std::size_t i = 0; i < count; ++i)
    past.push_back(
        {.time = 1, .hosts = hosts, .gbit_per_s = 9 + 0.1 * static_cast<double>(i % 3), .us = 30});
  return past;
}

TEST(LinkHistory, OnlyWhatIsFarFromUsualIsUnusual) {
  const auto now = [](double gbit, double us = 30) {
    return PastLinks{.hosts = 7, .gbit_per_s = gbit, .us = us};
  };
  EXPECT_FALSE(baseline_of({}, now(1)).slow) << "the first time";
  EXPECT_FALSE(baseline_of(earlier(4), now(1)).slow) << "too few to tell";
  const auto slow = baseline_of(earlier(5), now(4));
  EXPECT_TRUE(slow.slow);
  EXPECT_FALSE(slow.late);
  EXPECT_DOUBLE_EQ(slow.gbit_per_s, 9.1);
  EXPECT_NEAR(slow.gbit_per_s_mad, 0.1, 1e-9);
  EXPECT_FALSE(baseline_of(earlier(5), now(6)).slow);
  EXPECT_TRUE(baseline_of(earlier(5), now(9, 3000)).late);
  EXPECT_FALSE(baseline_of(earlier(5), now(9, 200)).late);
}

TEST(LinkHistory, AClusterThatVariesMayVary) {
  auto past = earlier(9);
  for (std::size_t i = 0; i < past.size(); ++i)
    past[i].gbit_per_s = 4 + 2 * static_cast<double>(i % 3);
  EXPECT_FALSE(baseline_of(past, {.hosts = 8, .gbit_per_s = 2, .us = 30}).slow);
}

TEST(LinkHistory, ComparesAlikeWithAlike) {
  EXPECT_EQ(baseline_of(earlier(9, 8), {.hosts = 16, .gbit_per_s = 1, .us = 9}).measurements, 0u);
  EXPECT_EQ(baseline_of(earlier(9), {.hosts = 8, .interface = "hsn0"}).measurements, 0u);
  EXPECT_EQ(baseline_of(earlier(9), {.hosts = 5}).measurements, 9u);
}

TEST(LinkHistory, SkipsWhatDoesNotFit) {
  EXPECT_TRUE(past_links_from("").empty());
  EXPECT_TRUE(past_links_from("[]").empty());
  EXPECT_EQ(past_links_from(R"({"measurements": [7, {"time": 1}, {"time": 1, "hosts": 0,
      "gbit_per_s": 9, "us": 3}, {"time": 1, "hosts": 2, "gbit_per_s": 9, "us": 3}]})")
                .size(),
            1u);
  EXPECT_TRUE(past_links_from(R"({"measurements": 3})").empty());
}

TEST(LinkHistory, RemembersTheLastFiftyOfACluster) {
  const TemporaryFolder folder;
  setenv("XDG_STATE_HOME", folder.path().c_str(), 1);
  setenv("SLURM_CLUSTER_NAME", "../odd name", 1);
  PosixSystem system(Console{});
  const PastLinks now{.hosts = 8, .gbit_per_s = 9, .us = 30};
  EXPECT_EQ(compare_with_past(system, now, true).measurements, 0u);
  EXPECT_EQ(compare_with_past(system, now, false).measurements, 1u);
  EXPECT_EQ(compare_with_past(system, now, true).measurements, 1u);
  for (int i = 0; i < 60; ++i) compare_with_past(system, now, true);
  EXPECT_EQ(compare_with_past(system, now, true).measurements, 50u);
  EXPECT_TRUE(std::filesystem::exists(folder.path() + "/dllaunch/links/___odd_name.json"));
  unsetenv("XDG_STATE_HOME");
  unsetenv("SLURM_CLUSTER_NAME");
}

TEST(LinkHistory, WithoutAHomeNothingIsRemembered) {
  FakeSystem system;
  EXPECT_EQ(compare_with_past(system, {.hosts = 8, .gbit_per_s = 9, .us = 3}, true).measurements,
            0u);
}

}  // namespace
}  // namespace dllaunch

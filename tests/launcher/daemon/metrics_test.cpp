#include "launcher/daemon/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

namespace dllaunch {
namespace {

using testing::HasSubstr;

Snapshot two_runs() {
  Snapshot snapshot;
  snapshot.live.push_back(
      {.id = 3, .name = "a\"b\\c\nd\xff", .state = "running", .step = 7, .loss = 0.5});
  snapshot.live.push_back({.id = 4, .name = "waits", .state = "pending"});
  snapshot.submissions = 2;
  return snapshot;
}

TEST(DaemonMetrics, TellOfRunsAndOfTheDaemon) {
  const auto text =
      render_metrics(two_runs(), {{"running", 1}, {"pending", 1}}, {.resident_bytes = 1 << 20});
  EXPECT_THAT(text, HasSubstr("dllaunch_runs{state=\"running\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("dllaunch_run_step{run=\"a\\\"b\\\\c\\\\nd\\\\xff\",id=\"3\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("dllaunch_submissions_total 2\n"));
  EXPECT_THAT(text, HasSubstr("process_resident_memory_bytes 1048576\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("waits")));
}

/// The exposition format, line by line: a name once with its type, before its samples.
TEST(DaemonMetrics, EveryLineIsAsPrometheusReadsIt) {
  const std::regex comment(R"(# (HELP|TYPE) [a-z_]+ .+)");
  const std::regex sample(
      R"(([a-z_]+)(\{[a-z]+="([^"\\]|\\.)*"(,[a-z]+="([^"\\]|\\.)*")*\})? -?[0-9.e+-]+)");
  std::istringstream text(render_metrics(two_runs(), {{"running", 1}}, {.uptime_s = 1e9}));
  std::set<std::string> typed;
  for (std::string line; std::getline(text, line);) {
    std::smatch match;
    if (std::regex_match(line, comment)) {
      std::istringstream words(line);
      std::string hash, what, name;
      words >> hash >> what >> name;
      const bool known = what == "TYPE" && !typed.insert(name).second;
      EXPECT_FALSE(known) << line;
    } else {
      ASSERT_TRUE(std::regex_match(line, match, sample)) << line;
      EXPECT_TRUE(typed.contains(match[1])) << line;
    }
  }
  EXPECT_GT(typed.size(), 10u);
}

TEST(DaemonMetrics, OfThisProcess) {
  const auto figures = process_figures(100, 107);
  EXPECT_EQ(figures.uptime_s, 7);
  EXPECT_GT(figures.resident_bytes, 1u << 20U);
  EXPECT_GE(figures.open_files, 3);
}

}  // namespace
}  // namespace dllaunch

// Ranks on several hosts: network namespaces with their own host names, set up by bench/hosts.
// Their watchdogs are connected by datagrams only. Needs root; skips visibly without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "tests/runtime/watchdog/started_ranks.hpp"
#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using Clock = StartedRanks::Clock;
using testing::HasSubstr;

constexpr int hosts = 3;
constexpr int ranks_per_host = 2;
constexpr const char* settings = "HOSTS_PREFIX=dlstall ";  // others may be measuring on theirs

int in_shell(const std::string& command) {
  return std::system((settings + command + " >/dev/null 2>&1").c_str());
}

std::string hosts_script() {
  return "'" DLLAUNCH_SOURCE_DIR "/bench/hosts/hosts' ";
}

class StallsBetweenHosts : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, for network namespaces";
    if (!has_mpirun()) GTEST_SKIP() << "no mpirun on this machine";
    if (in_shell(hosts_script() + "up " + std::to_string(hosts)) != 0)
      GTEST_SKIP() << "no network namespaces on this machine";
  }
  void TearDown() override { in_shell(hosts_script() + "down"); }

  static std::vector<std::string> on_hosts(const std::string& words) {
    return {"bash", "-c",
            settings + hosts_script() + "run " + std::to_string(hosts) + " " +
                std::to_string(ranks_per_host) + " '" + stalling_ranks_program() + "' " + words};
  }
};

TEST_F(StallsBetweenHosts, ARankOnAnyOfThemIsNamed) {
  const std::vector<int> victims =
      full_tier() ? std::vector<int>{0, 1, 2, 3, 4, 5} : std::vector<int>{0, 5};
  for (const int victim : victims) {
    SCOPED_TRACE(victim);
    StartedRanks job(hosts * ranks_per_host, on_hosts("auto 1 60 60"));
    ASSERT_TRUE(job.are_up()) << job.text();
    job.listen(300ms);
    const auto hurt = Clock::now();
    kill(job.process_of(victim), SIGSTOP);
    const std::string host = "dlstall" + std::to_string(victim / ranks_per_host);
    const auto named = [&](const std::string& line) {
      return line.starts_with("stall: ") && line.find("rank " + std::to_string(victim) + " on " +
                                                      host + " is stopped") != std::string::npos;
    };
    EXPECT_TRUE(job.find_line(named, hurt, hurt + 30s)) << job.text();
    // Reported once, by one of all hosts.
    job.listen(500ms);
    const std::string text = job.text();
    EXPECT_EQ(text.find("stall: "), text.rfind("stall: ")) << text;
  }
}

TEST_F(StallsBetweenHosts, KnowsWhatARankOnAnotherHostDoes) {
  StartedRanks job(hosts * ranks_per_host, on_hosts("auto 1 60 1 4 before 6.5"));
  const auto told = [](const std::string& line) { return line.starts_with("stall: "); };
  const auto line = job.find_line(told, {}, Clock::now() + 60s);
  ASSERT_TRUE(line) << job.text();
  EXPECT_THAT(line->text, HasSubstr("rank 4 on dlstall2 has not arrived (data for "));
  EXPECT_THAT(line->text, HasSubstr("nanosleep < ")) << "its stack came over the network";
  EXPECT_EQ(job.wait(60s), 0) << job.text();
  EXPECT_THAT(job.text(), HasSubstr(" continued after "));
}

TEST_F(StallsBetweenHosts, AHostWhoseLinkIsCutIsNamedAndAllRanksEnd) {
  StartedRanks job(hosts * ranks_per_host, on_hosts("auto 1 4 60"));
  ASSERT_TRUE(job.are_up()) << job.text();
  job.listen(300ms);
  const auto cut = Clock::now();
  ASSERT_EQ(in_shell("ip -n dlstall2 link set eth0 down"), 0);
  const auto told = [](const std::string& line) {
    return line.starts_with("stall: ") &&
           line.find("no word from dlstall2 (ranks 4-5)") != std::string::npos;
  };
  EXPECT_TRUE(job.find_line(told, cut, cut + 30s)) << job.text();
  // On both sides of the cut the ranks end by themselves. mpirun may keep waiting for its other
  // half.
  EXPECT_TRUE(job.ranks_gone(60s)) << job.text();
}

}  // namespace
}  // namespace dllaunch

// A hand-written srun without a run directory, and another user on its first node.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <set>
#include <sstream>

#include "launcher/os/posix_system.hpp"
#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::ContainsRegex;
using testing::HasSubstr;

class SlurmStrangers : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = std::make_unique<TestCluster>(std::vector<std::string>{
        "--nodes", "2", "--cpus", "4", "--user", "alice", "--user", "mallory"});
  }
  static void TearDownTestSuite() { cluster_.reset(); }

  void SetUp() override {
    if (cluster_->cannot_run_here()) GTEST_SKIP() << cluster_->why_not();
    ASSERT_TRUE(cluster_->up()) << cluster_->why_not();
  }
  void TearDown() override { cluster_->on_head({"scancel", "--user=alice"}); }

  /// As alice on the login node; both outputs.
  static CommandOutput alice(const std::string& line) {
    auto argv = cluster_->login("alice");
    argv.insert(argv.end(), {"env", "dllaunch=" + std::string(DLLAUNCH_BIN_DIR) + "/dllaunch",
                             "bash", "-c", line});
    auto output = PosixSystem(Console{}).run(argv, 300s);
    return output ? *std::move(output) : CommandOutput{-1, "", output.error().what};
  }
  /// An allocation of both nodes, whose number everybody can read.
  static std::string allocate() {
    const auto said = alice("salloc --no-shell -N2 -n4 -c2 2>&1").out;
    const std::string before = "Granted job allocation ";
    const auto at = said.find(before);
    if (at == std::string::npos) return "";
    return std::to_string(std::stoi(said.substr(at + before.size())));
  }
  static std::string step(const std::string& job, const std::string& command) {
    return "srun --jobid=" + job + " -N2 -n4 -c2 --mpi=none " + command;
  }

  static std::unique_ptr<TestCluster> cluster_;
};

std::unique_ptr<TestCluster> SlurmStrangers::cluster_;

constexpr const char* say_where = " -- bash -c 'echo \"$MASTER_ADDR:$MASTER_PORT\"'";

std::multiset<std::string> lines_of(const std::string& text) {
  std::multiset<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.insert(line);
  return lines;
}

void expect_all_meet_at_n1(const CommandOutput& output) {
  EXPECT_EQ(output.exit_code, 0) << output.err;
  const auto lines = lines_of(output.out);
  EXPECT_EQ(lines.size(), 4u) << output.out << output.err;
  EXPECT_EQ(lines.count(*lines.begin()), 4u) << output.out;
  EXPECT_THAT(*lines.begin(), testing::StartsWith("n1:"));
}

TEST_F(SlurmStrangers, WhoListensAtTheAgreedPortsIsNotBelieved) {
  const auto job = allocate();
  ASSERT_NE(job, "");
  const auto user = alice("id -u").out;
  const auto heard = cluster_->share() + "/heard";
  const auto release = cluster_->share() + "/release";
  cluster_->on_node(
      "n1", {"bash", "-c",
             fmt::format("setpriv --reuid mallory --regid mallory --clear-groups '{}/stranger' "
                         "slurm-{}.0-r0 {} '{}' < /dev/null > '{}' 2>&1 &",
                         DLLAUNCH_BIN_DIR, job, std::stoi(user), release, heard)});
  const auto text_of = [](const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  };
  ASSERT_TRUE(happens_within(20s, [&] { return text_of(heard).starts_with("ready"); }))
      << text_of(heard);
  const auto output = alice(step(job, "\"$dllaunch\" exec --rendezvous-seconds 100") + say_where);
  std::ofstream(release) << "\n";
  expect_all_meet_at_n1(output);
  EXPECT_THAT(text_of(heard), HasSubstr("heard ")) << "he was asked";
  EXPECT_THAT(text_of(heard), HasSubstr(R"("start":"slurm-)"));
}

// A home on each node's own disk.
TEST_F(SlurmStrangers, HomesThatDifferAreSaidWithTheRemedy) {
  const auto job = allocate();
  ASSERT_NE(job, "");
  const std::string own_home =
      "bash -c 'export HOME=/tmp/home-$SLURMD_NODENAME; mkdir -p \"$HOME\"; exec \"$@\"' - "
      "\"$dllaunch\" exec --rendezvous-seconds ";
  const auto failed = alice(step(job, own_home + "15") + say_where);
  EXPECT_NE(failed.exit_code, 0);
  EXPECT_THAT(failed.err, ContainsRegex("rank 0 on n1: [0-9.]+ claims to be rank 2 of this start"));
  EXPECT_THAT(failed.err,
              HasSubstr("home directories or DLLAUNCH_START_TOKEN that differ between the nodes"));
  EXPECT_THAT(failed.err, HasSubstr("before srun: export DLLAUNCH_START_TOKEN="));
  expect_all_meet_at_n1(alice("export DLLAUNCH_START_TOKEN=0123456789abcdef; " +
                              step(job, own_home + "100") + say_where));
}

}  // namespace
}  // namespace dllaunch

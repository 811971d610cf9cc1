// dllaunch doctor --preflight --network as an ordinary user on four nodes of a real Slurm, whose
// links tc limits. bench/network/measure counts how often it is right on eight.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>

#include "support/json.hpp"
#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

class LinksOnSlurm : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = std::make_unique<TestCluster>(
        std::vector<std::string>{"--nodes", "4", "--cpus", "2", "--user", "alice"});
    if (!cluster_->up()) return;
    // All links alike, and slower than what the machine's CPUs would give.
    for (const char* node : {"n1", "n2", "n3", "n4"})
      can_limit_ = limit(node, "300mbit") && can_limit_;
    job_ = cluster_->on_head({"sbatch", "--parsable", "--nodes=4", "--time=10",
                              "--output=/dev/null", "--wrap", "sleep 600"},
                             "alice");
  }
  static void TearDownTestSuite() { cluster_.reset(); }

  void SetUp() override {
    if (cluster_->cannot_run_here()) GTEST_SKIP() << cluster_->why_not();
    ASSERT_TRUE(cluster_->up()) << cluster_->why_not();
    if (!can_limit_)
      GTEST_SKIP() << "tc cannot limit a link here (Debian: iproute2; kernel: sch_tbf)";
    ASSERT_TRUE(happens_within(30s, [] {
      return cluster_->on_head({"squeue", "-h", "-o", "%T"}) == "RUNNING";
    })) << cluster_->on_head({"squeue"});
  }

  /// What the node sends, and what it receives.
  static bool limit(const std::string& node, const std::string& rate) {
    const auto set = [&](const std::string& device) {
      return std::vector<std::string>{"sh", "-c",
                                      "tc qdisc replace dev " + device + " root tbf rate " + rate +
                                          " burst 64kb latency 20ms && echo set"};
    };
    return cluster_->on_node(node, set("eth0")) == "set" &&
           cluster_->on_head(set("veth-" + node)) == "set";
  }

  struct Seen {
    int exit_code = 0;
    Json links = Json::object();
    std::string text = {};
    std::string words = {};  // "host n3": what is slow, silent or cut off
  };
  /// As a user of the allocation would call it on the login node.
  static Seen measure(std::vector<std::string> options = {"--json"}) {
    auto argv = cluster_->login("alice");
    argv.insert(argv.end(),
                {"env", "XDG_STATE_HOME=" + cluster_->share() + "/state", "SLURM_JOB_ID=" + job_,
                 "SLURM_JOB_NODELIST=n[1-4]", program_, "doctor", "--preflight", "--network"});
    for (const char* check : {"cpu", "memory", "folders", "shm", "gpus", "gpu-speed", "clock"})
      argv.insert(argv.end(), {"--skip", check});
    argv.insert(argv.end(), options.begin(), options.end());
    const auto output = PosixSystem(Console{}).run(argv, patience * 90s);
    if (!output) return {.exit_code = -1, .text = output.error().what};
    Seen seen{.exit_code = output->exit_code, .text = output->out + output->err};
    const auto document = Json::parse(output->out, nullptr, false);
    if (!document.is_object() || !document.contains("links")) return seen;
    seen.links = document["links"];
    for (const auto& link : seen.links["slow"]) {
      seen.words += link["kind"].text() + " " + link["hosts"][0].text();
      if (link["kind"] == Json("pair")) seen.words += "-" + link["with"][0].text();
      seen.words += "; ";
    }
    for (const char* kind : {"silent", "cut_off"})
      for (const auto& host : seen.links[kind]) seen.words += kind + (" " + host.text()) + "; ";
    return seen;
  }

  /// On a machine where everything waits, time may run out first: then it is measured again.
  static Seen measure_until(const std::string& words,
                            const std::vector<std::string>& options = {"--json"}) {
    return measure_until(options, [&words](const Seen& seen) {
      return seen.words == words && seen.exit_code == (words.empty() ? 0 : 4) &&
             seen.links.contains("missed") && seen.links["missed"] == Json(0) &&
             seen.links["unsure"].empty();
    });
  }
  static Seen measure_until_shown(const std::vector<std::string>& options,
                                  const std::string& text) {
    return measure_until(
        options, [&text](const Seen& seen) { return seen.text.find(text) != std::string::npos; });
  }
  static Seen measure_until(const std::vector<std::string>& options,
                            const std::function<bool(const Seen&)>& settled) {
    auto seen = measure(options);
    for (int again = 0; again < 5 && !settled(seen); ++again) seen = measure(options);
    return seen;
  }

  static inline const std::string program_ = std::string(DLLAUNCH_BIN_DIR) + "/dllaunch";
  static std::unique_ptr<TestCluster> cluster_;
  static bool can_limit_;
  static std::string job_;
};

std::unique_ptr<TestCluster> LinksOnSlurm::cluster_;
bool LinksOnSlurm::can_limit_ = true;
std::string LinksOnSlurm::job_;

TEST_F(LinksOnSlurm, AllAreFine) {
  const auto seen = measure_until("");
  EXPECT_EQ(seen.exit_code, 0) << seen.text;
  EXPECT_EQ(seen.words, "");
  EXPECT_EQ(seen.links["pairs"], 6) << seen.text;
  EXPECT_LT(seen.links["seconds"].get<double>(), 60);
  const auto shown = measure_until_shown({"-v"}, "OK   n4  links: ");
  EXPECT_THAT(shown.text, HasSubstr(" earlier measurement")) << "the first one was remembered";
  EXPECT_THAT(shown.text, HasSubstr("6 pairs of 4 nodes in "));
  EXPECT_THAT(shown.text, HasSubstr("OK   n4  links: "));
}

TEST_F(LinksOnSlurm, NamesTheSlowNode) {
  ASSERT_TRUE(limit("n3", "60mbit"));
  const auto seen = measure_until("host n3; ");
  const auto shown = measure_until_shown({}, "FAIL n3  links: sends 0.0");
  limit("n3", "300mbit");
  EXPECT_EQ(seen.exit_code, 4) << seen.text;
  EXPECT_EQ(seen.words, "host n3; ") << seen.text;
  EXPECT_THAT(shown.text, HasSubstr("FAIL n3  links: sends 0.0"));
  EXPECT_THAT(shown.text, HasSubstr("leave out: --exclude=n3"));
}

TEST_F(LinksOnSlurm, NamesTheSlowPair) {
  const auto made = cluster_->on_node(
      "n2", {"sh", "-c",
             "tc qdisc replace dev eth0 root handle 1: htb default 1 && "
             "tc class add dev eth0 parent 1: classid 1:1 htb rate 300mbit quantum 60000 && "
             "tc class add dev eth0 parent 1: classid 1:2 htb rate 60mbit quantum 60000 && "
             "tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dst 10.77.0.4/32 "
             "flowid 1:2 && echo set"});
  const auto seen = made == "set" ? measure_until("pair n2-n4; ") : Seen();
  cluster_->on_node("n2", {"tc", "qdisc", "del", "dev", "eth0", "root"});
  ASSERT_TRUE(limit("n2", "300mbit"));
  if (made != "set") GTEST_SKIP() << "tc has no htb or u32 here";
  EXPECT_EQ(seen.exit_code, 4) << seen.text;
  EXPECT_EQ(seen.words, "pair n2-n4; ") << seen.text;
}

/// Slurm reaches the node, the other nodes do not.
TEST_F(LinksOnSlurm, NamesTheNodeThatIsCutOff) {
  const std::vector<std::string> others = {"10.77.0.1/32", "10.77.0.3/32", "10.77.0.4/32"};
  const auto route = [&](const char* what) {
    for (const auto& other : others)
      cluster_->on_node("n2", {"ip", "route", what, "blackhole", other});
  };
  route("add");
  const auto seen = measure_until("cut_off n2; ", {"--json", "--skip", "network"});
  route("del");
  EXPECT_EQ(seen.exit_code, 4) << seen.text;
  EXPECT_EQ(seen.words, "cut_off n2; ") << seen.text;
  EXPECT_LT(seen.links["seconds"].get<double>(), 60);
}

/// A process that hangs is named, and holds up nobody for long.
TEST_F(LinksOnSlurm, NamesTheNodeThatHangs) {
  const auto real = cluster_->share() + "/dllaunch";
  fs::copy_file(program_, real, fs::copy_options::skip_existing);
  const Workplace share(cluster_->share());
  // Stops itself once it has said where it is.
  const auto wrapper =
      share.file("wrapper", "#!/bin/bash\nreal='" + real + "'\n" +
                                "[[ $* == *--links-node* ]] || exec \"$real\" \"$@\"\n"
                                "exec \"$real\" \"$@\" > "
                                ">(read -r line; echo \"$line\"; kill -STOP $$)\n");
  fs::permissions(wrapper, fs::perms(0755));
  cluster_->on_node("n4", {"mount", "--bind", wrapper, program_});
  const auto seen = measure_until("silent n4; ", {"--json", "--skip", "network"});
  cluster_->on_node("n4", {"umount", program_});
  EXPECT_EQ(seen.exit_code, 4) << seen.text;
  EXPECT_EQ(seen.words, "silent n4; ") << seen.text;
  EXPECT_LT(seen.links["seconds"].get<double>(), 60);
}

}  // namespace
}  // namespace dllaunch

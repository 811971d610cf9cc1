// dllaunch doctor --preflight as an ordinary user on three nodes of a real Slurm, each with two
// GPUs in name only: what is done to a node is named, with the node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>

#include "launcher/preflight/report.hpp"
#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string program = std::string(DLLAUNCH_BIN_DIR) + "/dllaunch";

class PreflightOnSlurm : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = std::make_unique<TestCluster>(
        std::vector<std::string>{"--nodes", "3", "--cpus", "2", "--gpus", "2", "--user", "alice"});
    if (!cluster_->up()) return;
    fs::create_directories(run_dir());
    chmod(run_dir().c_str(), 0777);
  }
  static void TearDownTestSuite() { cluster_.reset(); }

  void SetUp() override {
    if (cluster_->cannot_run_here()) GTEST_SKIP() << cluster_->why_not();
    ASSERT_TRUE(cluster_->up()) << cluster_->why_not();
  }
  void TearDown() override {
    if (!job_.empty()) cluster_->on_head({"scancel", job_});
  }

  /// Holds the nodes, as salloc would; `script` runs on the first of them.
  void hold(const std::string& script = "") {
    job_ = cluster_->on_head(
        {"sbatch", "--parsable", "--nodes=3", "--ntasks-per-node=1", "--gpus-per-node=2",
         "--time=10", "--output=" + cluster_->share() + "/job.out", "--chdir=" + cluster_->share(),
         "--wrap", script + "\nsleep 600"},
        "alice");
    ASSERT_TRUE(happens_within(30s, [] {
      return cluster_->on_head({"squeue", "-h", "-o", "%T"}) == "RUNNING";
    })) << cluster_->on_head({"squeue"});
  }

  static std::string run_dir() { return cluster_->share() + "/run"; }

  /// The argv of the command on the login node, as a user of the allocation would call it.
  CommandOutput doctor(const std::vector<std::string>& options, const char* limit = "60") {
    auto argv = cluster_->login("alice");
    argv.insert(argv.end(), {"env", "SLURM_JOB_ID=" + job_, "SLURM_JOB_NODELIST=n[1-3]", program,
                             "doctor", "--preflight", "--run-dir", run_dir(), "--limit", limit});
    argv.insert(argv.end(), options.begin(), options.end());
    const auto output = PosixSystem(Console{}).run(argv, patience * 90s);
    return output ? *output : CommandOutput{-1, "", output.error().what};
  }

  struct Seen {
    int exit_code = 0;
    PreflightReport report = {};
    std::string text = {};
  };
  Seen preflight(std::vector<std::string> options = {}, const char* limit = "60") {
    options.emplace_back("--json");
    const auto output = doctor(options, limit);
    const auto document = Json::parse(output.out, nullptr, false);
    auto report = preflight_report_from_json(document);
    EXPECT_TRUE(report) << output.out << output.err;
    return {output.exit_code, report ? *std::move(report) : PreflightReport(), document.dump(2)};
  }

  /// "n2 shm, n3 folders (TMPDIR)": everything that fails.
  static std::vector<std::string> failures(const PreflightReport& report) {
    std::vector<std::string> all;
    for (const auto& node : report.nodes)
      for (const auto& check : node.checks)
        if (check.level == Level::fail)
          all.push_back(node.node + " " + check.name +
                        (check.item.empty() ? "" : " (" + check.item + ")"));
    return all;
  }
  static std::string why(const PreflightReport& report, const std::string& node,
                         const std::string& name) {
    for (const auto& verdict : report.nodes)
      for (const auto& check : verdict.checks)
        if (verdict.node == node && check.name == name && check.level != Level::ok)
          return check.why;
    return "";
  }

  /// On that node alone `dllaunch` is what `script` makes of "$real".
  static void stand_in(const std::string& node, const std::string& script) {
    const auto real = cluster_->share() + "/dllaunch";
    fs::copy_file(program, real, fs::copy_options::skip_existing);
    const Workplace share(cluster_->share());
    const auto wrapper = share.file("wrapper", "#!/bin/bash\nreal=" + real + "\n" + script);
    chmod(wrapper.c_str(), 0755);
    cluster_->on_node(node, {"mount", "--bind", wrapper, program});
  }

  static std::unique_ptr<TestCluster> cluster_;
  std::string job_;
};

std::unique_ptr<TestCluster> PreflightOnSlurm::cluster_;

TEST_F(PreflightOnSlurm, AllIsWell) {
  const Workplace share(cluster_->share());
  const auto written = share.path() + "/script";
  hold("'" + program + "' doctor --preflight --skip cpu --limit 60 --json > " + written +
       ".json; echo $? > " + written + ".code; touch " + written + ".done");
  EXPECT_TRUE(happens_within(60s, [&] { return fs::exists(written + ".done"); }));
  EXPECT_EQ(share.text_of("script.code"), "0\n")
      << share.text_of("job.out") << share.text_of("script.json");

  auto seen = preflight();
  // The nodes share the machine's CPUs, which other tests may take from any of them for a moment.
  for (int again = 0; again < 4 && seen.exit_code != 0; ++again) seen = preflight();
  EXPECT_EQ(seen.exit_code, 0) << seen.text;
  EXPECT_THAT(failures(seen.report), IsEmpty()) << seen.text;
  EXPECT_THAT(seen.report.exclude, IsEmpty());
  ASSERT_EQ(seen.report.nodes.size(), 3u);
  for (const auto& node : seen.report.nodes) {
    // Each of the eight checks, of folders four: run directory, checkpoints, TMPDIR, staging.
    EXPECT_EQ(node.checks.size(), 11u) << node.node << seen.text;
    for (const auto& check : node.checks) EXPECT_FALSE(check.value.empty());
  }
  EXPECT_THAT(seen.text, HasSubstr("2 peers, "));
  EXPECT_THAT(seen.text, HasSubstr("2 GPUs"));
  std::fprintf(stderr, "three nodes in %.1f s\n", seen.report.seconds);
}

TEST_F(PreflightOnSlurm, NamesNodesThatLackSomething) {
  hold();
  cluster_->on_node("n2", {"rm", "/dev/nvidia1"});
  const auto output = doctor({"--skip", "cpu"});
  EXPECT_EQ(output.exit_code, 4);
  EXPECT_THAT(output.out, HasSubstr("FAIL n2  gpus: 1 GPU\n       1 GPU where the job has 2\n"))
      << output.err;
  EXPECT_THAT(output.out, HasSubstr("1 not fit; leave out: --exclude=n2\n"));

  cluster_->on_node("n2", {"mount", "-t", "tmpfs", "-o", "ro,size=100m", "none", run_dir()});
  cluster_->on_node("n3", {"mount", "-t", "tmpfs", "-o", "size=128k,mode=1777", "none", run_dir()});
  cluster_->on_node("n1", {"mount", "-o", "remount,size=1m", "/dev/shm"});
  const auto seen = preflight({"--skip", "cpu"});
  for (const char* node : {"n2", "n3"}) cluster_->on_node(node, {"umount", run_dir()});
  cluster_->on_node("n2", {"mknod", "-m", "666", "/dev/nvidia1", "c", "195", "1"});
  cluster_->on_node("n1", {"mount", "-o", "remount,size=50%", "/dev/shm"});
  EXPECT_EQ(seen.exit_code, 4);
  EXPECT_THAT(failures(seen.report),
              ElementsAre("n1 shm", "n2 folders (run directory)", "n2 folders (checkpoints)",
                          "n2 gpus", "n3 folders (run directory)", "n3 folders (checkpoints)"))
      << seen.text;
  EXPECT_THAT(why(seen.report, "n2", "folders"), HasSubstr("Read-only file system"));
  EXPECT_THAT(why(seen.report, "n3", "folders"), HasSubstr("No space left on device"));
  EXPECT_THAT(seen.report.exclude, ElementsAre("n1", "n2", "n3")) << "each for its own fault";
}

TEST_F(PreflightOnSlurm, NamesTheNodeWhoseClockIsOff) {
  const std::string library = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
  if (!fs::exists(library)) GTEST_SKIP() << "libfaketime is not installed";
  hold();
  stand_in("n3", "export LD_PRELOAD=" + library +
                     " FAKETIME=-95s DONT_FAKE_MONOTONIC=1 FAKETIME_DONT_FAKE_MONOTONIC=1\n"
                     "exec \"$real\" \"$@\"\n");
  const auto seen = preflight({"--skip", "cpu"});
  cluster_->on_node("n3", {"umount", program});
  EXPECT_EQ(seen.exit_code, 4);
  EXPECT_THAT(failures(seen.report), ElementsAre("n3 clock")) << seen.text;
  EXPECT_THAT(why(seen.report, "n3", "clock"), testing::ContainsRegex("9[45]\\.[0-9] s behind"));
  EXPECT_THAT(seen.report.exclude, ElementsAre("n3"));
}

/// Stopped 95 % of the time, as by a CPU quota or leftover processes.
TEST_F(PreflightOnSlurm, NamesTheSlowNode) {
  hold();
  stand_in("n2",
           "set -m\n"
           "exec {never}<> <(:)\n"
           "\"$real\" \"$@\" &\n"
           "while kill -STOP -- -$! 2> /dev/null; do\n"
           "  read -rt 0.095 -u \"$never\"\n"
           "  kill -CONT -- -$!\n"
           "  read -rt 0.005 -u \"$never\"\n"
           "done\n"
           "wait $!\n");
  Seen seen;
  // The nodes share the machine's CPUs, which other tests may take from any of them for a moment.
  for (int attempt = 0; attempt < 5 && seen.report.exclude != std::vector<std::string>{"n2"};
       ++attempt)
    seen = preflight({"--skip", "network", "--skip", "folders", "--skip", "clock"});
  cluster_->on_node("n2", {"umount", program});
  EXPECT_EQ(seen.exit_code, 4);
  EXPECT_THAT(failures(seen.report), ElementsAre("n2 cpu")) << seen.text;
  EXPECT_THAT(seen.report.exclude, ElementsAre("n2"));
}

TEST_F(PreflightOnSlurm, NamesTheNodeThatIsCutOff) {
  hold();
  // Slurm still reaches it from the login node, but its ranks would not reach the others.
  const auto route = [](const char* what, const char* other) {
    cluster_->on_node("n2", {"ip", "route", what, "blackhole", other});
  };
  for (const char* other : {"10.77.0.1/32", "10.77.0.3/32"}) route("add", other);
  const auto half = preflight({"--skip", "cpu"});
  for (const char* other : {"10.77.0.1/32", "10.77.0.3/32"}) route("del", other);
  EXPECT_EQ(half.exit_code, 4);
  EXPECT_THAT(failures(half.report), ElementsAre("n2 network")) << half.text;
  EXPECT_THAT(why(half.report, "n2", "network"), HasSubstr("cannot reach"));
  EXPECT_THAT(half.report.exclude, ElementsAre("n2"));

  ASSERT_TRUE(cluster_->tell("cut-network", {"n3"}));
  Seen seen;
  // Slow machines need longer for the others' answers.
  for (const char* limit : {"6", "18", "54"})
    if (seen.report.exclude != std::vector<std::string>{"n3"})
      seen = preflight({"--skip", "cpu"}, limit);
  cluster_->tell("restore-network", {"n3"});
  EXPECT_EQ(seen.exit_code, 4);
  EXPECT_THAT(failures(seen.report), ElementsAre("n3 answer")) << seen.text;
  EXPECT_THAT(seen.report.exclude, ElementsAre("n3"));
}

}  // namespace
}  // namespace dllaunch

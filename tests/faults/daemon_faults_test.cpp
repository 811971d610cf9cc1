// What kills daemons, and what daemons are for, on the real test Slurm: deaths in the middle of a
// submission, several at once, a node that dies for good, a time limit; and 200 runs at rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <thread>

#include "launcher/daemon/client/client.hpp"
#include "launcher/daemon/client/daemon_lock.hpp"
#include "launcher/run/run_dir.hpp"
#include "tests/end_to_end/test_cluster.hpp"
#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

class DaemonFaults : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    // Slurm requeues nothing here: what the daemon is for.
    cluster_ = std::make_unique<TestCluster>(std::vector<std::string>{
        "--nodes", "2", "--cpus", "2", "--conf", "JobRequeue=0", "--conf", "MinJobAge=3600"});
  }
  static void TearDownTestSuite() { cluster_.reset(); }

  void SetUp() override {
    if (cluster_->cannot_run_here()) GTEST_SKIP() << cluster_->why_not();
    ASSERT_TRUE(cluster_->up()) << cluster_->why_not();
    const auto name = testing::UnitTest::GetInstance()->current_test_info()->name();
    work_ = std::make_unique<Workplace>(cluster_->share() + "/" + name);
    work_->before = cluster_->login();
    work_->environment = {{"TERM", "dumb"},
                          {"XDG_STATE_HOME", work_->path() + "/state"},
                          {"XDG_CACHE_HOME", work_->path() + "/cache"}};
  }
  void TearDown() override {
    if (!work_) return;
    work_->run({"daemon", "stop"});
    cluster_->on_head({"scancel", "--user=root"});
  }

  /// A round every 0.3 s: tests are impatient.
  void start(std::vector<std::string> more = {}) {
    std::vector<std::string> argv = {"daemon", "start", "--interval", "0.3", "--settle", "2"};
    argv.insert(argv.end(), more.begin(), more.end());
    const auto started = work_->run(argv);
    ASSERT_EQ(started.exit_code, 0) << started.err;
  }
  DaemonPaths paths() const { return {.folder = work_->path() + "/state/dllaunch/daemon"}; }
  Json ask(const std::string& path) const {
    const auto answer = ask_daemon(paths(), "GET", path, 30s);
    return answer ? Json::parse(answer->body, nullptr, false) : Json::object();
  }
  std::string field(const std::string& run, const char* key) const {
    const auto shown = ask("/v1/runs/" + run);
    const auto found = shown.find(key);
    if (found == shown.end()) return "";
    return found->is_string() ? found->get<std::string>() : found->dump();
  }
  int post(const std::string& path) const {
    const auto answer = ask_daemon(paths(), "POST", path, 30s);
    return answer ? answer->status : 0;
  }
  /// SIGKILL, by the number that this machine knows it under.
  void kill_daemon() const {
    const auto answer = ask_daemon(paths(), "GET", "/v1/daemon", 30s);
    if (answer) kill(answer->pid, SIGKILL);
    ASSERT_TRUE(happens_within(10s, [&] { return !holder_of(paths().lock()); }));
  }
  /// A job number that Slurm has used and will not use again.
  static std::string ended_job() {
    auto id = cluster_->on_head({"sbatch", "--parsable", "--output=/dev/null", "--wrap", "true"});
    id.erase(std::min(id.find('\n'), id.size()));
    EXPECT_FALSE(id.empty());
    EXPECT_TRUE(happens_within(30s, [&] {
      return cluster_->on_head({"squeue", "--noheader", "--format=%i"}).empty();
    }));
    return id;
  }
  /// A run that is over, whose script says when it runs.
  std::string store_run(const std::string& name, const std::string& job, const std::string& lines,
                        bool over) const {
    const RunDir dir{.path = work_->path() + "/runs/" + name};
    fs::create_directories(dir.out());
    std::ofstream(dir.plan_json())
        << R"({"name": "tiny", "launcher": "slurm", "nodes": 1, "ranks_per_node": 1, )"
        << R"("sbatch": {}})";
    std::ofstream(dir.sbatch_script())
        << "#!/bin/bash\n#SBATCH --output=/dev/null\n#SBATCH --time=5\n#SBATCH --ntasks=1\n"
        << lines << "\n";
    std::ofstream(dir.job_id()) << job << "\n";
    if (over) std::ofstream(dir.summary()) << R"({"status": "completed", "seconds": 1})";
    const auto index = work_->path() + "/state/dllaunch/runs";
    fs::create_directories(index);
    std::ofstream(index + "/" + name + ".run") << dir.path << "\n";
    return dir.path;
  }

  static std::unique_ptr<TestCluster> cluster_;
  std::unique_ptr<Workplace> work_;
};

std::unique_ptr<TestCluster> DaemonFaults::cluster_;

TEST_F(DaemonFaults, ARunWhoseNodeDiesGoesOnElsewhere) {
  start({"--notify", "echo \"$1 $3\" >> " + work_->path() + "/told"});
  const auto job = work_->file("job.yaml",
                               "name: lost\n"
                               "resources: {nodes: 1, ranks_per_node: 1, device: cpu, time: 5, "
                               "sbatch_extra: ['!--requeue']}\n"
                               "run: sleep 300\n");
  const auto ran = work_->run({"run", job, "--run-dir", work_->run_dir(), "--detach"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  ASSERT_TRUE(happens_within(30s, [&] { return field("run", "state") == "running"; }));
  const auto node = field("run", "where");
  const auto first = field("run", "job");
  // Drained too, lest it come back by itself and be taken again.
  for (const char* state : {"state=drain", "state=down"})
    cluster_->on_head({"scontrol", "update", "nodename=" + node, state, "reason=test"});
  ASSERT_TRUE(happens_within(30s, [&] {
    const auto seen = ask("/v1/runs/run");
    return seen.is_object() && seen.value("state", "") == "running" && seen["job"] != first;
  })) << ask("/v1/runs/run").dump(2);
  EXPECT_NE(field("run", "where"), node);
  EXPECT_THAT(field("run", "decision"), HasSubstr("a node failed and Slurm did not requeue it"));
  EXPECT_EQ(work_->job_id(), field("run", "job"));
  // The token stands where anybody can see it.
  EXPECT_THAT(cluster_->on_head({"squeue", "--noheader", "--format=%k"}), HasSubstr("dllaunch:"));
  cluster_->on_head({"scontrol", "update", "nodename=" + node, "state=resume"});

  EXPECT_EQ(post("/v1/runs/run/cancel"), 202);
  ASSERT_TRUE(happens_within(30s, [&] { return field("run", "over") == "true"; }));
  EXPECT_EQ(field("run", "state"), "cancelled");
  EXPECT_EQ(field("run", "submissions"), "1") << "what its user cancelled stays cancelled";
  EXPECT_TRUE(happens_within(20s, [&] {
    return work_->text_of("told").find("ended run: cancelled") != std::string::npos;
  })) << work_->text_of("told");
  EXPECT_THAT(work_->text_of("told"), HasSubstr("submitted submitted again as job"));
  const auto status = work_->run({"status", work_->run_dir()});
  EXPECT_THAT(status.out, HasSubstr("lost: cancelled"));
}

/// Killed at any instruction, the daemon loses no run and submits none twice.
TEST_F(DaemonFaults, KilledAtAnyMomentItSubmitsOnceAndNotTwice) {
  const int kills = full_tier() ? 200 : 5;
  constexpr int runs = 3;
  for (int i = 0; i < runs; ++i) {
    const auto path = work_->path() + "/runs/r" + std::to_string(i);
    store_run("r" + std::to_string(i), ended_job(),
              "echo $SLURM_JOB_ID > " + path + "/job.id; echo $SLURM_JOB_ID >> " + path + "/jobs",
              /*over=*/true);
  }
  start();
  std::mt19937 random(20261122);
  int wished = 0;
  for (int i = 0; i < kills; ++i) {
    const auto name = "r" + std::to_string(i % runs);
    ASSERT_TRUE(happens_within(60s, [&] { return field(name, "over") == "true"; }))
        << ask("/v1/runs/" + name).dump(2);
    const int status = post("/v1/runs/" + name + "/requeue");
    ASSERT_EQ(status, 202);
    ++wished;
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 80'000));
    kill_daemon();
    start();
    // Some die a second time while they look after what the first left behind.
    if (random() % 3 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 60'000));
      kill_daemon();
      start();
    }
  }
  for (int i = 0; i < runs; ++i) {
    const auto name = "r" + std::to_string(i);
    EXPECT_TRUE(happens_within(60s, [&] {
      return field(name, "over") == "true" && field(name, "wish") == "null";
    })) << ask("/v1/runs/" + name).dump(2);
  }
  // What Slurm has seen, by the tokens; what the jobs themselves wrote.
  std::istringstream seen(
      cluster_->on_head({"squeue", "--states=all", "--noheader", "--format=%i %o %k"}));
  std::set<std::string> tokens;
  int submitted = 0;
  for (std::string line; std::getline(seen, line);) {
    const auto at = line.find("dllaunch:");
    // Other tests' jobs may be there too.
    if (at == std::string::npos || line.find(work_->path()) == std::string::npos) continue;
    ++submitted;
    EXPECT_TRUE(tokens.insert(line.substr(at)).second) << "twice: " << line;
  }
  EXPECT_EQ(submitted, wished) << "lost, or submitted twice\n"
                               << cluster_->on_head({"squeue", "--states=all", "--noheader",
                                                     "--format=%i %T %V %k %o"})
                               << "\n"
                               << work_->text_of("state/dllaunch/daemon/daemon.log");
  int started = 0;
  for (int i = 0; i < runs; ++i) {
    std::ifstream jobs(work_->path() + "/runs/r" + std::to_string(i) + "/jobs");
    for (std::string line; std::getline(jobs, line);) ++started;
  }
  EXPECT_EQ(started, wished);
  std::printf("%d submissions, %d kills and more, %d jobs\n", wished, kills, submitted);
}

/// Killed while it submits, and then several are started at once: one of them looks after what it
/// left behind.
TEST_F(DaemonFaults, OfSeveralStartedAtOnceOneSubmitsAndOnce) {
  const int rounds = full_tier() ? 20 : 2;
  const auto path = work_->path() + "/runs/r";
  store_run("r", ended_job(), "echo $SLURM_JOB_ID > " + path + "/job.id", /*over=*/true);
  start();
  std::mt19937 random(20261123);
  for (int i = 0; i < rounds; ++i) {
    ASSERT_TRUE(happens_within(60s, [&] { return field("r", "over") == "true"; }));
    ASSERT_EQ(post("/v1/runs/r/requeue"), 202);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 80'000));
    kill_daemon();
    std::vector<std::unique_ptr<Workplace>> others;
    for (int k = 0; k < 4; ++k) {
      others.push_back(std::make_unique<Workplace>(work_->path() + "/" + std::to_string(k)));
      others.back()->before = work_->before;
      others.back()->before.insert(others.back()->before.end(),
                                   {"env", "XDG_STATE_HOME=" + work_->path() + "/state"});
      others.back()->environment = work_->environment;
      others.back()->start({"daemon", "start", "--interval", "0.3", "--settle", "2"});
    }
    int won = 0;
    for (auto& other : others) won += other->wait().exit_code == 0 ? 1 : 0;
    EXPECT_EQ(won, 1);
  }
  EXPECT_TRUE(happens_within(
      60s, [&] { return field("r", "over") == "true" && field("r", "wish") == "null"; }));
  const auto seen = cluster_->on_head({"squeue", "--states=all", "--noheader", "--format=%o %k"});
  int submitted = 0;
  std::istringstream lines(seen);
  for (std::string line; std::getline(lines, line);)
    submitted += line.starts_with(path) && line.find("dllaunch:") != std::string::npos ? 1 : 0;
  EXPECT_EQ(submitted, rounds) << seen << work_->text_of("state/dllaunch/daemon/daemon.log");
}

/// "Under 30 MiB and 0.5 % of a core while idle with 200 runs", squeue's own time included.
TEST_F(DaemonFaults, TwoHundredRunsAtRest) {
  constexpr int runs = 200;
  const auto ids =
      cluster_->on_head({"bash", "-c",
                         "seq 200 | xargs -P 4 -I{} sbatch --parsable --hold --job-name=tiny "
                         "--output=/dev/null --wrap true"});
  std::istringstream lines(ids);
  int stored = 0;
  for (std::string id; std::getline(lines, id); ++stored)
    store_run("idle-" + std::to_string(stored), id, "true", /*over=*/false);
  ASSERT_EQ(stored, runs) << ids;
  const auto started = work_->run({"daemon", "start"});
  ASSERT_EQ(started.exit_code, 0) << started.err;
  ASSERT_TRUE(happens_within(30s, [&] { return ask("/v1/daemon")["live_runs"] == runs; }));
  const auto before = ask("/v1/daemon");
  // A round of ten seconds, or several. Asking more often would be work of its own.
  const int rounds = full_tier() ? 6 : 1;
  Json after;
  for (int tries = 0; tries < 6; ++tries) {
    std::this_thread::sleep_for(full_tier() ? 61s : 10200ms);
    after = ask("/v1/daemon");
    if (after["rounds"].get<int>() >= before["rounds"].get<int>() + rounds) break;
  }
  EXPECT_GE(after["rounds"].get<int>(), before["rounds"].get<int>() + rounds);
  const double cpu_s = after["cpu_seconds"].get<double>() - before["cpu_seconds"].get<double>();
  const double wall_s =
      after["uptime_seconds"].get<double>() - before["uptime_seconds"].get<double>();
  const double mib = after["resident_bytes"].get<double>() / (1 << 20);
  std::printf("200 runs at rest: %.1f MiB, %.3f %% of a core, %d rounds\n", mib,
              100 * cpu_s / wall_s, after["rounds"].get<int>() - before["rounds"].get<int>());
  EXPECT_LT(mib, 30);
  // How fast its machine is CI does not know.
  EXPECT_LT(cpu_s / wall_s, full_tier() ? 0.005 : 0.05);
  EXPECT_EQ(ask("/v1/runs?limit=500")["runs"].size(), std::size_t{runs});
}

/// A run longer than its time limit, as a chain of jobs: a minute or more each, so not every day.
TEST_F(DaemonFaults, ARunLongerThanItsTimeLimitIsAChain) {
  if (!full_tier()) GTEST_SKIP() << "unavailable: time; scripts/test --full";
  start();
  const auto job = work_->file("job.yaml",
                               "name: long\n"
                               "resources: {nodes: 1, ranks_per_node: 1, device: cpu, time: 1, "
                               "sbatch_extra: ['!--requeue']}\n"
                               "recovery: {signal: USR2, grace_seconds: 10}\n"
                               "run: |\n"
                               "  cd $DLLAUNCH_RUN_DIR; mkdir -p checkpoints; echo link >> links\n"
                               "  trap '' USR2; sleep 5; date > checkpoints/saved\n"
                               "  [ $(wc -l < links) -ge 2 ] && exit 0\n"
                               "  sleep 600\n");
  const auto ran = work_->run({"run", job, "--run-dir", work_->run_dir(), "--detach"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(happens_within(240s, [&] { return field("run", "over") == "true"; }));
  EXPECT_EQ(field("run", "state"), "completed") << ask("/v1/runs/run").dump(2);
  EXPECT_EQ(field("run", "submissions"), "1");
}

}  // namespace
}  // namespace dllaunch

#include "tests/end_to_end/test_cluster.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>

namespace dllaunch {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

/// More than `cluster` itself waits.
constexpr auto longest = patience * 90s;

/// What sites set otherwise than tests/cluster does: no test may depend on it. By suite, each with
/// some of them, as another cluster for each would take longer. Contain: a step of Slurm's own,
/// JOB.extern, is on each node of a job.
const std::map<std::string, std::vector<std::string>> settings_of_sites = {
    {"Cgroup/SlurmLeftovers", {"ProctrackType=proctrack/cgroup", "PrologFlags=Contain"}},
    {"Cgroup/SlurmSave",
     {"ProctrackType=proctrack/cgroup", "PrologFlags=Contain", "JobRequeue=0", "KillWait=30"}},
    {"Cgroup/SlurmSuspended", {"ProctrackType=proctrack/cgroup", "SlurmdTimeout=300"}},
    {"DoctorOnSlurm", {"SelectType=select/linear", "SelectTypeParameters=CR_Memory"}},
    {"PreflightOnSlurm", {"SelectTypeParameters=CR_CPU_Memory", "DefMemPerCPU=512"}},
    {"SlurmEnded", {"KillOnBadExit=1", "JobRequeue=0"}},
    {"SlurmFaults", {"SlurmdTimeout=300", "UnkillableStepTimeout=120"}},
    {"SlurmHold", {"KillOnBadExit=1", "JobAcctGatherType=jobacct_gather/none"}},
    {"SlurmNodes", {"SelectTypeParameters=CR_Core_Memory", "DefMemPerCPU=512", "JobRequeue=0"}},
    {"SlurmProbe", {"SelectType=select/linear", "SelectTypeParameters=CR_Memory"}},
    {"SlurmRun", {"SelectTypeParameters=CR_Core_Memory", "DefMemPerCPU=512", "KillOnBadExit=1"}},
    {"SlurmStacks", {"PrologFlags=Alloc", "SlurmdTimeout=300"}},
    {"SlurmStage", {"TaskPlugin=task/none", "ReturnToService=0", "SlurmdTimeout=300"}},
    {"SlurmStrangers", {"PrologFlags=Alloc", "JobAcctGatherType=jobacct_gather/none"}},
};

}  // namespace

TestCluster::TestCluster(std::vector<std::string> options) {
  // Ordinary users pass through here to the share.
  chmod(folder_.path().c_str(), 0755);
  options.insert(options.begin(), {"up", folder_.path(), "--share", DLLAUNCH_BIN_DIR, "--owner",
                                   std::to_string(getpid())});
  const auto* suite = testing::UnitTest::GetInstance()->current_test_suite();
  const auto settings = settings_of_sites.find(suite == nullptr ? "" : suite->name());
  if (settings != settings_of_sites.end())
    for (const auto& line : settings->second) options.insert(options.end(), {"--conf", line});
  const auto started = cluster(options);
  if (!started) {
    why_not_ = started.error().what;
  } else if (started->exit_code != 0) {
    why_not_ = started->err;
    cannot_run_here_ = started->exit_code == 77;
  }
  fs::create_directories(share());
  chmod(share().c_str(), 01777);  // as /tmp: nobody renames what is another user's
}

TestCluster::~TestCluster() {
  if (up()) tell("down");
}

Result<CommandOutput> TestCluster::cluster(std::vector<std::string> argv) const {
  argv.insert(argv.begin(), std::string(DLLAUNCH_SOURCE_DIR) + "/tests/cluster/cluster");
  return PosixSystem(Console{}).run(argv, longest);
}

std::vector<std::string> TestCluster::login(const std::string& user) const {
  std::vector<std::string> argv = {std::string(DLLAUNCH_SOURCE_DIR) + "/tests/cluster/cluster",
                                   "run", folder_.path()};
  if (!user.empty()) argv.insert(argv.end(), {"--user", user});
  argv.emplace_back("--");
  return argv;
}

std::string TestCluster::on_head(const std::vector<std::string>& argv,
                                 const std::string& user) const {
  auto all = login(user);
  // What is submitted here is not to be found among its user's own runs and nodes.
  if (user.empty()) all.insert(all.end(), {"env", "XDG_STATE_HOME=" + share() + "/state"});
  all.insert(all.end(), argv.begin(), argv.end());
  const auto output = PosixSystem(Console{}).run(all, longest);
  if (!output) return output.error().what;
  return output->out.substr(0, output->out.find_last_not_of('\n') + 1);
}

std::string TestCluster::on_node(const std::string& node,
                                 const std::vector<std::string>& argv) const {
  std::vector<std::string> all = {"exec", folder_.path(), node, "--"};
  all.insert(all.end(), argv.begin(), argv.end());
  const auto output = cluster(all);
  if (!output) return output.error().what;
  return output->out.substr(0, output->out.find_last_not_of('\n') + 1);
}

bool TestCluster::tell(const std::string& command, const std::vector<std::string>& argv) const {
  std::vector<std::string> all = {command, folder_.path()};
  all.insert(all.end(), argv.begin(), argv.end());
  const auto output = cluster(all);
  return output && output->exit_code == 0;
}

void OnTestCluster::SetUp() {
  if (cluster_->cannot_run_here()) GTEST_SKIP() << cluster_->why_not();
  ASSERT_TRUE(cluster_->up()) << cluster_->why_not();
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  work_ = std::make_unique<Workplace>(cluster_->share() + "/" + test->name());
  work_->before = cluster_->login();
  // What its user has probed elsewhere is not this cluster's.
  work_->environment = {{"TERM", "dumb"}, {"XDG_CACHE_HOME", work_->path() + "/cache"}};
  arrange();
}

}  // namespace dllaunch

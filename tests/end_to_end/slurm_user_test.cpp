// Unusual but legitimate sites and users: odd paths, wrappers, a closed home.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

/// As root and as a user who exists in this cluster only.
class SlurmUser : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() {
    cluster_ = std::make_unique<TestCluster>(std::vector<std::string>{
        "--nodes", "2", "--cpus", "2", "--user", "alice", "--user", "bob"});
  }
  static void TearDownTestSuite() { cluster_.reset(); }

  void SetUp() override {
    if (cluster_->cannot_run_here()) GTEST_SKIP() << cluster_->why_not();
    ASSERT_TRUE(cluster_->up()) << cluster_->why_not();
  }

  std::string user() const { return GetParam() == std::string("root") ? "" : GetParam(); }
  /// A folder on the scratch file system that only its user can write.
  std::unique_ptr<Workplace> place(const std::string& name) const {
    auto work = std::make_unique<Workplace>(cluster_->share() + "/" + GetParam() + "/" + name);
    fs::permissions(cluster_->share() + "/" + GetParam(), fs::perms::all);
    fs::permissions(work->path(), fs::perms::all);
    work->before = cluster_->login(user());
    work->environment = {{"TERM", "dumb"}};
    return work;
  }
  static std::string job(const std::string& more) {
    return "name: odd\nresources: {nodes: 2, ranks_per_node: 1, device: cpu, time: 5}\n" + more;
  }
  static constexpr const char* training =
      "train: {model: lenet, backend: reference, batch_size: 8, dataset: {kind: synthetic, images: "
      "64, classes: 10, channels: 1, image_size: 28}}\n";

  static std::unique_ptr<TestCluster> cluster_;
};

std::unique_ptr<TestCluster> SlurmUser::cluster_;

/// Everything that has a path has an odd one, the programs too; a home that is closed, a TMPDIR
/// that is not there, nothing for others to read.
TEST_P(SlurmUser, TrainsWhereEveryPathIsOdd) {
  const auto work = place("übungs läufe 'x' $(id)");
  const auto bin = work->path() + "/meine programme";
  fs::create_directories(bin);
  for (const char* program : {"dllaunch", "dltrain"})
    fs::copy_file(std::string(DLLAUNCH_BIN_DIR) + "/" + program, bin + "/" + program);
  work->program = bin + "/dllaunch";
  work->before.insert(work->before.end(), {"bash", "-c", "umask 077; exec \"$@\"", "bash"});
  work->environment.insert(work->environment.end(), {{"TMPDIR", "/nowhere to be found"},
                                                     {"LANG", "C"},
                                                     {"LC_ALL", "C"},
                                                     {"HOME", "/proc/1/nothing"},
                                                     {"XDG_CACHE_HOME", ""}});
  const auto run_dir = work->path() + "/läufe/erster lauf";
  const auto ended =
      work->run({"run", work->file("mein job.yaml", job(training)), "--run-dir", run_dir});
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(events_of(run_dir, "end").size(), 1u);
  EXPECT_EQ(fs::status(run_dir + "/summary.json").permissions() & fs::perms::others_all,
            fs::perms::none);
}

TEST_P(SlurmUser, RunsWithoutAHome) {
  const auto work = place("no home");
  work->before.insert(work->before.end(), {"env", "-u", "HOME", "-u", "USER", "-u", "LOGNAME"});
  const auto ended =
      work->run({"run", work->file("job.yaml", job("run: 'echo $(id -un) in $PWD'\n")), "--run-dir",
                 work->run_dir()});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr(std::string(GetParam()) + " in " + work->path()));
}

/// A file system knows bytes; JSON, which the plan is, only UTF-8.
TEST_P(SlurmUser, RunsInAFolderThatIsNotUtf8) {
  const auto work = place("latin1-\xfc");
  const auto ended = work->run(
      {"run", work->file("job.yaml", job("run: hostname\n")), "--run-dir", work->run_dir()});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_TRUE(fs::exists(work->run_dir() + "/plan.json"));
  EXPECT_TRUE(fs::exists(work->run_dir() + "/summary.json"));
}

TEST_P(SlurmUser, SlurmConfLiesElsewhere) {
  const auto work = place("conf");
  const auto conf = work->path() + "/slurm etc";
  fs::create_directories(conf);
  for (const char* file : {"slurm.conf", "gres.conf", "cgroup.conf"})
    fs::copy_file(cluster_->path() + "/slurm/" + file, conf + "/" + file);
  work->before.insert(work->before.end(), {"env", "SLURM_CONF=" + conf + "/slurm.conf"});
  const auto file = work->file("job.yaml", job("run: hostname\n"));
  const auto ended = work->run({"run", file, "--run-dir", work->run_dir()});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("n2"));

  // And it is that file which is read.
  fs::remove(conf + "/slurm.conf");
  const auto lost = work->run({"run", file, "--run-dir", work->path() + "/other"});
  EXPECT_EQ(lost.exit_code, 3) << lost.err;
  EXPECT_THAT(lost.err, HasSubstr("slurm"));
}

/// In front of sbatch sites put scripts that talk, and check, and talk again.
TEST_P(SlurmUser, ASitesSbatchTalks) {
  const auto work = place("wrapped");
  const auto site = work->path() + "/site bin";
  fs::create_directories(site);
  std::ofstream(site + "/sbatch") << "#!/bin/bash\n"
                                     "echo '*** 2 jobs of yours, 1234 node hours left ***'\n"
                                     "echo 'sbatch: lua: job_submit: partition set' >&2\n"
                                     "echo\n"
                                     "/usr/bin/sbatch \"$@\"\n"
                                     "code=$?\n"
                                     "echo '100% of your quota; see https://site/42'\n"
                                     "exit $code\n";
  fs::permissions(site + "/sbatch", fs::perms::all);
  work->before.insert(work->before.end(), {"env", "PATH=" + site + ":/usr/bin:/bin:/usr/sbin"});
  const auto file = work->file("job.yaml", job("run: hostname\n"));
  const auto ended = work->run({"run", file, "--run-dir", work->run_dir()});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("n2"));
  const auto refused = work->run({"run", file, "--run-dir", work->path() + "/other", "--set",
                                  "resources.sbatch_extra=[--licenses=nope:1]"});
  EXPECT_EQ(refused.exit_code, 3) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("icense"));
}

TEST_P(SlurmUser, TheReservationOfAnother) {
  cluster_->on_head({"scontrol", "create", "reservation", "reservationname=bobs", "starttime=now",
                     "duration=60", "users=bob", "nodes=n1"});
  const auto work = place("reservation");
  const auto ended = work->run({"run", work->file("job.yaml", "name: a\nrun: hostname\n"),
                                "--run-dir", work->run_dir(), "--set", "resources.device=cpu",
                                "--set", "resources.reservation=bobs"});
  cluster_->on_head({"scontrol", "delete", "reservationname=bobs"});
  if (GetParam() == std::string("root") && ended.exit_code == 0) {
    GTEST_SKIP() << "this Slurm lets root into any reservation";
  }
  EXPECT_EQ(ended.exit_code, 3) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("eservation"));
  EXPECT_THAT(ended.err, Not(HasSubstr("submitted job")));
}

INSTANTIATE_TEST_SUITE_P(As, SlurmUser, testing::Values("root", "alice"),
                         [](const auto& param) { return std::string(param.param); });

}  // namespace
}  // namespace dllaunch

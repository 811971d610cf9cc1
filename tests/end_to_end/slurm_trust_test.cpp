// What another user can do to a run, on the real test Slurm: mallory is a member of alice's group,
// or may write in the folder that holds her run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>

#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

/// What Python would execute before the program, as the rank finds it.
constexpr const char* takes_python_along =
    "touch up; until [ -e go ]; do sleep 0.1; done; "
    "cat \"${PYTHONPATH%%:*}/sitecustomize.py\" > seen.tmp 2> /dev/null; mv seen.tmp seen";

class SlurmTrust : public OnTestCluster {
 protected:
  static void SetUpTestSuite() {
    start_cluster({"--nodes", "1", "--cpus", "2", "--user", "alice", "--user", "mallory"});
  }
  /// The folder belongs to root, and everybody may write and rename in it.
  void arrange() override {
    chmod(place().c_str(), 0777);
    work_->before = cluster_->login("alice");
    // Her home is hers alone; the test's own state folder lies in what others may rename in.
    for (const char* word : {"env", "-u", "XDG_STATE_HOME"}) work_->before.emplace_back(word);
    work_->environment.emplace_back("XDG_CACHE_HOME", "");
  }
  void TearDown() override {
    if (!work_) return;
    cluster_->on_head({"scancel", "--user=alice"});
    work_->wait(30s);
  }

  const std::string& place() const { return work_->path(); }
  bool is_there(const std::string& name) const { return fs::exists(place() + "/" + name); }
  std::string mallory(const std::string& line) const {
    return cluster_->on_head({"sh", "-c", "cd '" + place() + "' && { " + line + "; } 2>&1"},
                             "mallory");
  }
  std::string job(const std::string& program, const std::string& more = "") const {
    return work_->file(
        "job.yaml",
        "name: trust\nresources: {nodes: 1, ranks_per_node: 1, device: cpu, time: 5}\nrun: [sh, "
        "-c, '" +
            program + "']\n" + more);
  }
  /// Puts a directory of mallory's in the place of the run's.
  void replace_run() const {
    const auto said = mallory(
        "mv run moved && mkdir -p run/autopsy/python run/.retry run/out && "
        "echo 'evil' > run/autopsy/python/sitecustomize.py && "
        "echo '{\"launcher\": \"slurm\", \"name\": \"trust\", \"nodes\": 1, \"ranks_per_node\": 1, "
        "\"retry\": 1}' > run/plan.json && "
        "echo '{\"by\": \"mallory\", \"program\": [\"touch\", \"" +
        place() +
        "/evil\"], \"files\": {\"plan.json\": \"{}\"}}' > run/.retry/1 && "
        "printf 'name: trust\\nresources: {nodes: 1, ranks_per_node: 1, device: cpu, time: "
        "5}\\nrun: [touch, " +
        place() + "/evil]\\n' > run/job.yaml && chmod -R a+rwX run");
    ASSERT_EQ(said, "");
  }
  bool queue_is_empty() const {
    return happens_within(60s, [&] { return cluster_->on_head({"squeue", "--noheader"}).empty(); });
  }
};

TEST_F(SlurmTrust, AMemberOfTheGroupWritesNothingInASharedRun) {
  chmod(place().c_str(), 01777);
  for (const char* word : {"bash", "-c", "umask 002; exec \"$@\"", "bash"})
    work_->before.emplace_back(word);
  work_->start({"run", job(takes_python_along, "share: group\n"), "--run-dir", work_->run_dir()});
  ASSERT_TRUE(happens_within(60s, [&] { return is_there("up"); })) << work_->text_of("stderr");
  const auto said = cluster_->on_head(
      {"setpriv", "--reuid", "mallory", "--regid", "mallory", "--groups", "alice", "sh", "-c",
       "cd '" + work_->run_dir() +
           "' && ls > /dev/null && echo in; cd autopsy/python && rm -f sitecustomize.py && echo "
           "evil > sitecustomize.py && echo done"});
  EXPECT_EQ(said, "in") << "she shares it for reading";
  mallory("touch go");
  const auto ended = work_->wait();
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(work_->text_of("seen"), HasSubstr("faulthandler"));
  EXPECT_THAT(work_->text_of("seen"), Not(HasSubstr("evil")));
  for (const auto& entry : fs::recursive_directory_iterator(work_->run_dir()))
    EXPECT_EQ(fs::symlink_status(entry).permissions() &
                  (fs::perms::group_write | fs::perms::others_write),
              fs::perms::none)
        << entry.path();
}

TEST_F(SlurmTrust, WhoReplacesARunThatRunsPutsNothingIntoItsPython) {
  work_->start({"run", job(takes_python_along), "--run-dir", work_->run_dir()});
  ASSERT_TRUE(happens_within(60s, [&] { return is_there("up"); })) << work_->text_of("stderr");
  replace_run();
  mallory("touch go");
  ASSERT_TRUE(happens_within(60s, [&] { return is_there("seen"); }));
  EXPECT_THAT(work_->text_of("seen"), HasSubstr("faulthandler"));
  EXPECT_THAT(work_->text_of("seen"), Not(HasSubstr("evil")));
}

TEST_F(SlurmTrust, ARunThatIsReplacedWhileItWaitsDoesNotStart) {
  for (const bool knows_id : {false, true}) {
    const auto submitted = work_->run({"run", job("true"), "--run-dir", work_->run_dir(),
                                       "--detach", "--set", "resources.sbatch_extra=[--hold]"});
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
    const auto id = work_->job_id();
    const auto run_id = work_->text_of("run/.run-id");
    replace_run();
    if (knows_id) mallory("printf " + run_id + " > run/.run-id");
    cluster_->on_head({"scontrol", "release", id});
    ASSERT_TRUE(queue_is_empty());
    EXPECT_FALSE(is_there("evil"));
    EXPECT_THAT(cluster_->on_head({"scontrol", "show", "job", id}), HasSubstr("ExitCode=3:0"));
    mallory("rm -rf run");
    cluster_->on_head({"rm", "-rf", place() + "/moved"});
  }
}

TEST_F(SlurmTrust, WhereOthersRenameARunGoesOnWithTheJobFileOfItsOwner) {
  const auto first = work_->run({"run", job("touch ran"), "--run-dir", work_->run_dir()});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("others can put another in the place of the run directory"));
  EXPECT_TRUE(is_there("ran"));
  cluster_->on_head({"rm", place() + "/ran"});
  const auto again = work_->run({"run", work_->run_dir()});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(is_there("ran")) << "as before";
  replace_run();
  work_->run({"run", work_->run_dir()});
  EXPECT_FALSE(is_there("evil"));
}

TEST_F(SlurmTrust, WhereOthersRenameItsUserFollowsAndCancelsARun) {
  for (const bool by_root : {false, true}) {
    const auto submitted =
        work_->run({"run", job("touch up; sleep 1000"), "--run-dir", work_->run_dir(), "--detach"});
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
    ASSERT_TRUE(happens_within(60s, [&] { return is_there("up"); }));
    EXPECT_THAT(cluster_->on_head({"scontrol", "show", "job", work_->job_id()}),
                HasSubstr("/home/alice/.local/state/dllaunch/kept/"));
    const auto again = work_->run({"run", work_->run_dir(), "--detach"});
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_THAT(again.err, HasSubstr("of this run is RUNNING: following it"));
    EXPECT_EQ(work_->run({"stacks", work_->run_dir()}).exit_code, 0);
    const auto alice = work_->before;
    if (by_root) work_->before = cluster_->login("");
    const auto ended = work_->run({"cancel", work_->run_dir(), "--now"});
    work_->before = alice;
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    ASSERT_TRUE(queue_is_empty());
    cluster_->on_head({"rm", "-rf", work_->run_dir(), place() + "/up"});
  }
}

TEST_F(SlurmTrust, WhereOthersRenameItsUserCancelsARunThatWasMoved) {
  const auto submitted =
      work_->run({"run", job("touch up; sleep 1000"), "--run-dir", work_->run_dir(), "--detach"});
  ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
  ASSERT_TRUE(happens_within(60s, [&] { return is_there("up"); }));
  fs::rename(work_->run_dir(), place() + "/moved");
  const auto ended = work_->run({"cancel", place() + "/moved", "--now"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_TRUE(queue_is_empty());
}

/// As where nodes or login nodes do not have the home.
TEST_F(SlurmTrust, WhereNoCopiesCanBeKeptARunIsAsElsewhere) {
  for (const char* word : {"env", "XDG_STATE_HOME=/proc"}) work_->before.emplace_back(word);
  const auto first = work_->run({"run", job("touch ran"), "--run-dir", work_->run_dir()});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("no copies of what the run executes can be kept elsewhere"));
  EXPECT_TRUE(is_there("ran"));
  cluster_->on_head({"rm", place() + "/ran"});
  const auto again = work_->run({"run", work_->run_dir()});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(is_there("ran"));
  replace_run();
  EXPECT_NE(work_->run({"run", work_->run_dir()}).exit_code, 0);
  EXPECT_FALSE(is_there("evil"));
}

TEST_F(SlurmTrust, WhereNoCopiesCanBeKeptARunTakesPlaceInAnAllocation) {
  for (const char* word :
       {"salloc", "-N1", "--exclusive", "--quiet", "env", "XDG_STATE_HOME=/proc"})
    work_->before.emplace_back(word);
  const auto ended =
      work_->run({"run", job("touch ran"), "--run-dir", work_->run_dir(), "--allocated"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_TRUE(is_there("ran"));
}

TEST_F(SlurmTrust, WhereOthersRenameAnArrayRuns) {
  const auto ended = work_->run({"run", job("touch ran-$SLURM_ARRAY_TASK_ID"), "--run-dir",
                                 work_->run_dir(), "--set", "array=0-1"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_TRUE(is_there("ran-0") && is_there("ran-1")) << ended.err;
}

TEST_F(SlurmTrust, WhereOthersRenameNoHoldAndNoRetry) {
  const auto ended = work_->run(
      {"run", job("exit 7", "recovery: {max_restarts: 0, hold_on_error: \"00:05:00\"}\n"),
       "--run-dir", work_->run_dir()});
  EXPECT_EQ(ended.exit_code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("recovery.hold_on_error has no effect: others can replace"));
  EXPECT_THAT(work_->text_of("run/supervisor.jsonl"), Not(HasSubstr("\"next\":\"hold\"")));
  const auto retried = work_->run({"retry", work_->run_dir()});
  EXPECT_EQ(retried.exit_code, 2);
  EXPECT_THAT(retried.err, HasSubstr("has no allocation any more"));
}

/// As in /tmp and in a project's folder with a sticky bit.
TEST_F(SlurmTrust, WhereNobodyRenamesWhatIsAnothersNothingIsNoticed) {
  chmod(place().c_str(), 01777);
  work_->start({"run", job("exit 7", "recovery: {max_restarts: 0, hold_on_error: \"00:05:00\"}\n"),
                "--run-dir", work_->run_dir()});
  ASSERT_TRUE(happens_within(60s, [&] {
    return work_->text_of("run/supervisor.jsonl").find("\"next\":\"hold\"") != std::string::npos;
  })) << work_->text_of("stderr");
  const auto said = mallory("mv run moved");
  EXPECT_THAT(said, HasSubstr("Operation not permitted"));
  EXPECT_THAT(work_->text_of("stderr"), Not(HasSubstr("others can")));
  const auto script = work_->text_of("run/job.sbatch");
  EXPECT_THAT(script, Not(HasSubstr("--files")));
  EXPECT_THAT(script, Not(HasSubstr("stat -L")));
  EXPECT_THAT(cluster_->on_head({"scontrol", "show", "job", work_->job_id()}),
              HasSubstr("Command=" + work_->run_dir() + "/job.sbatch"));
}

/// By a site that removes old files from its scratch disks.
TEST_F(SlurmTrust, ARunWhoseIdWasRemovedStartsWhereNobodyElseRenames) {
  for (const bool sticky : {true, false}) {
    chmod(place().c_str(), sticky ? 01777 : 0777);
    const auto submitted = work_->run({"run", job("touch ran"), "--run-dir", work_->run_dir(),
                                       "--detach", "--set", "resources.sbatch_extra=[--hold]"});
    ASSERT_EQ(submitted.exit_code, 0) << submitted.err;
    const auto id = work_->job_id();
    fs::remove(work_->run_dir() + "/.run-id");
    cluster_->on_head({"scontrol", "release", id});
    ASSERT_TRUE(queue_is_empty());
    EXPECT_EQ(is_there("ran"), sticky) << work_->text_of("run/slurm-" + id + ".out");
    cluster_->on_head({"rm", "-f", place() + "/ran"});
    const auto again = work_->run({"run", work_->run_dir(), "--set", "resources.sbatch_extra=[]"});
    EXPECT_EQ(again.exit_code, 0) << "the way to go on: " << again.err;
    cluster_->on_head({"rm", "-rf", work_->run_dir(), place() + "/ran"});
  }
}

TEST_F(SlurmTrust, PlanCheckSaysThatOthersCanReplaceTheRun) {
  const auto told = [&] { return work_->run({"plan", job("true"), "--check"}).out; };
  EXPECT_THAT(told(), HasSubstr(place() + " can be written by others and has no sticky bit"));
  chmod(place().c_str(), 01777);
  EXPECT_THAT(told(), Not(HasSubstr("others can put another")));
  chmod(place().c_str(), 0755);
  mallory("true");
  cluster_->on_head({"chown", "mallory", place()});
  EXPECT_THAT(told(), HasSubstr(place() + " belongs to another user"));
}

}  // namespace
}  // namespace dllaunch

// A run's directory that another user has forged, or put in place of one: no command acts on the
// job that it names.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using namespace std::chrono_literals;

/// `alice` runs a job; `bob` may write the folder that her run's directory is in, as in a project
/// without a sticky bit. What a job's record needs, `scontrol` shows to everyone.
class SlurmForged : public OnTestCluster {
 protected:
  static void SetUpTestSuite() {
    start_cluster({"--nodes", "2", "--cpus", "2", "--user", "alice", "--user", "bob"});
  }
  void arrange() override {
    fs::permissions(work_->path(), fs::perms::all);
    work_->file("job.yaml",
                "name: mine\nresources: {nodes: 1, ranks_per_node: 1, device: cpu, time: 30, "
                "exclusive: false, cpus_per_rank: 1}\nrun: sleep 1000\n");
    own_ = begin("alice", "run");
    own_job_ = work_->text_of("run/job.id");
    own_job_.pop_back();
    // Of bob's own run, with alice's job in it.
    begin("bob", "other");
    as("bob", fmt::format("cd {} && cp -r other forged && scancel $(cat other/job.id) && "
                          "echo {job} > forged/job.id && token=$(scontrol show job {job} | "
                          "grep -o 'dllaunch:[0-9a-f]*') && "
                          R"(printf '{{"id":"{job}","token":"%s"}}' $token > forged/job.json && )"
                          "chmod -R a+rX forged",
                          work_->path(), fmt::arg("job", own_job_)));
    forged_ = work_->path() + "/forged";
    ASSERT_THAT(work_->text_of("forged/job.json"), HasSubstr("dllaunch:"));
  }
  void TearDown() override {
    if (cluster_->up()) cluster_->on_head({"scancel", "--state=RUNNING,PENDING", "--quiet"});
  }

  std::string as(const std::string& user, const std::string& script) {
    return cluster_->on_head({"bash", "-c", script}, user);
  }
  /// dllaunch on the login node; "" : root.
  Ended dllaunch(const std::string& user, const std::vector<std::string>& words) {
    work_->before = cluster_->login(user);
    work_->environment = {{"TERM", "dumb"},
                          {"XDG_CACHE_HOME", work_->path() + "/cache-" + user},
                          {"XDG_STATE_HOME", work_->path() + "/state-" + user}};
    return work_->run(words);
  }
  std::string begin(const std::string& user, const std::string& name) {
    const auto dir = work_->path() + "/" + name;
    const auto begun =
        dllaunch(user, {"run", work_->path() + "/job.yaml", "--detach", "--run-dir", dir});
    EXPECT_EQ(begun.exit_code, 0) << begun.err;
    EXPECT_TRUE(happens_within(60s, [&] { return !processes_of(dir, 0).empty(); }));
    return dir;
  }
  std::string state() {
    return cluster_->on_head({"squeue", "--noheader", "--format=%T", "--jobs=" + own_job_});
  }
  void expect_refused(const Ended& ended, const std::string& why) {
    EXPECT_EQ(ended.exit_code, 2) << ended.out << ended.err;
    EXPECT_THAT(ended.err, HasSubstr(why));
    EXPECT_EQ(state(), "RUNNING");
  }

  std::string own_;
  std::string own_job_;
  std::string forged_;
};

TEST_F(SlurmForged, RootsCommandsLeaveTheJobOfAnotherUserAlone) {
  const auto why = "job " + own_job_ + " is not that of " + forged_ +
                   ": it is a job of alice, and " + forged_ + " belongs to bob; nothing was done";
  for (const std::vector<std::string>& words : {std::vector<std::string>{"cancel", forged_},
                                                {"cancel", forged_, "--now"},
                                                {"stacks", forged_}})
    expect_refused(dllaunch("", words), why);
  expect_refused(dllaunch("", {"run", forged_, "--detach"}), "nothing is executed from " + forged_);
  // Whoever owns the directory: the script lies elsewhere.
  cluster_->on_head({"chown", "-R", "alice", forged_});
  expect_refused(dllaunch("", {"cancel", forged_}), "it is that of " + own_);
  const auto ended = dllaunch("", {"cancel", own_, "--now"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(state(), "") << "root may end what is alice's";
}

TEST_F(SlurmForged, WhatIsPutInTheRunsPlaceEndsNoOtherJobOfTheUser) {
  const auto away = work_->path() + "/away";
  const auto other = begin("alice", "second");
  as("bob", "mv " + own_ + " " + away + " && mv " + forged_ + " " + own_);
  expect_refused(dllaunch("alice", {"cancel", own_}), own_ + " belongs to bob");
  // Her own other run: moved, copied by her, or linked by bob.
  as("bob", "rm -rf " + own_ + "; mv " + away + " " + own_ + "; ln -s " + own_ + " " + forged_);
  expect_refused(dllaunch("alice", {"cancel", forged_}), forged_ + " is a link that another user");
  as("bob", fmt::format("cd {} && mv run away && mv second run && mv away second", work_->path()));
  expect_refused(dllaunch("alice", {"cancel", other}), "it is that of " + own_);
  as("bob", fmt::format("cd {} && mv run away && mv second run && mv away second", work_->path()));
  as("alice", fmt::format("cd {} && cp -r run copy", work_->path()));
  expect_refused(dllaunch("alice", {"cancel", work_->path() + "/copy"}), "it is that of " + own_);
  const auto ended = dllaunch("alice", {"cancel", own_, "--now"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(state(), "");
}

/// Of a run outside the queue, the lock names the process that is to stop.
TEST_F(SlurmForged, ALockNamesNoProcessOfAnother) {
  const auto local = work_->path() + "/local";
  as("bob",
     fmt::format("cd {0} && cp -r other {1} && rm {1}/job.id {1}/job.json && "
                 "sed -i 's/\"launcher\": *\"slurm\"/\"launcher\": \"local\"/' {1}/plan.json",
                 work_->path(), local));
  ASSERT_THAT(work_->text_of("local/plan.json"), HasSubstr("\"local\""));
  const auto script = fmt::format(
      "sleep 1000 & echo $! $(hostname) > {0}/victim; chmod 666 {0}/victim; wait", work_->path());
  PosixSystem system{Console{}};
  const auto start = [&](const std::string& user, const std::string& text) {
    auto argv = cluster_->login(user);
    argv.insert(argv.end(), {"bash", "-c", text});
    return OwnedProcess::start({.program = argv[0], .argv = argv, .environment = {}});
  };
  auto victim = start("alice", script);
  ASSERT_TRUE(victim);
  ASSERT_TRUE(happens_within(60s, [&] { return !work_->text_of("victim").empty(); }));
  auto holder = start("bob", fmt::format("cd {0} && cat {1}/victim > .lock && exec flock .lock "
                                         "bash -c 'touch {1}/held; sleep 1000'",
                                         local, work_->path()));
  ASSERT_TRUE(holder);
  ASSERT_TRUE(happens_within(60s, [&] { return fs::exists(work_->path() + "/held"); }));
  expect_refused(dllaunch("", {"cancel", local}), "/.lock names, does not run this run");
  EXPECT_FALSE(victim->poll()) << "alice's process lives";
  holder->send(SIGKILL);
  victim->send(SIGKILL);
}

}  // namespace
}  // namespace dllaunch

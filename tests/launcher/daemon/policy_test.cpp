#include "launcher/daemon/policy.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

struct Case {
  const char* what;
  EndedJob ended;
  RunVerdict verdict;
  const char* reason;
  RunPast past = {};
  RecoveryWishes wishes = {};
  Caps caps = {};
};

const Case cases[] = {
    {"complete", {}, RunVerdict::leave, "it is complete"},
    {"local", {.status = RunStatus::timeout, .slurm = false}, RunVerdict::leave, "without Slurm"},
    {"cancelled by its user",
     {.status = RunStatus::cancelled, .canceller = Canceller::user},
     RunVerdict::leave,
     "you cancelled it"},
    {"cancelled by an unknown user",
     {.status = RunStatus::cancelled},
     RunVerdict::leave,
     "cancelled by an unknown user"},
    {"a cancel that came too late for it to end as cancelled",
     {.status = RunStatus::timeout, .cancel_wished = true, .new_checkpoint = true},
     RunVerdict::leave,
     "you cancelled it"},
    {"exit 93", {.status = RunStatus::failed, .exit_code = 93}, RunVerdict::give_up, "93"},
    {"exit 93 while the node died",
     {.status = RunStatus::node_fail, .exit_code = 93},
     RunVerdict::give_up,
     "93"},
    {"its own failure",
     {.status = RunStatus::failed, .exit_code = 1, .new_checkpoint = true},
     RunVerdict::give_up,
     "its program failed"},
    {"its supervisor gave it up, and a node was lost last",
     {.status = RunStatus::node_fail, .new_checkpoint = true, .stopped = "no new checkpoint"},
     RunVerdict::give_up,
     "its supervisor stopped: no new checkpoint"},
    {"GPU hours are used up",
     {.status = RunStatus::node_fail},
     RunVerdict::wait,
     "used 12.5 GPU hours in 30 days, and 10 is the limit",
     {},
     {},
     {.most_gpu_hours = 10, .gpu_hours = 12.5}},
    {"there is no cap on GPU hours",
     {.status = RunStatus::node_fail},
     RunVerdict::submit,
     "a node failed",
     {},
     {},
     {.gpu_hours = 1e9}},
    {"out of memory",
     {.status = RunStatus::out_of_memory, .new_checkpoint = true},
     RunVerdict::give_up,
     "memory"},
    {"an array", {.status = RunStatus::node_fail, .array = true}, RunVerdict::give_up, "array"},

    {"a lost node", {.status = RunStatus::node_fail}, RunVerdict::submit, "a node failed"},
    {"preempted for good", {.status = RunStatus::preempted}, RunVerdict::submit, "preempted"},
    {"time up, with a checkpoint",
     {.status = RunStatus::timeout, .new_checkpoint = true},
     RunVerdict::submit,
     "resumes from its checkpoint"},
    {"time up, without", {.status = RunStatus::timeout}, RunVerdict::give_up, "would do so again"},
    {"cancelled by the system",
     {.status = RunStatus::cancelled, .canceller = Canceller::system},
     RunVerdict::submit,
     "the system cancelled it"},
    {"cancelled by the system again",
     {.status = RunStatus::cancelled, .canceller = Canceller::system, .new_checkpoint = true},
     RunVerdict::give_up,
     "ask an administrator",
     {.system_cancels = 1}},

    {"the second lost node without a checkpoint",
     {.status = RunStatus::node_fail},
     RunVerdict::submit,
     "",
     {.submissions = 1, .without_progress = 1}},
    {"the third",
     {.status = RunStatus::node_fail},
     RunVerdict::give_up,
     "3 jobs in a row saved no new checkpoint",
     {.submissions = 2, .without_progress = 2}},
    {"the third, with one",
     {.status = RunStatus::node_fail, .new_checkpoint = true},
     RunVerdict::submit,
     "",
     {.submissions = 2, .without_progress = 2}},
    {"a long chain",
     {.status = RunStatus::timeout, .new_checkpoint = true},
     RunVerdict::submit,
     "",
     {.submissions = 99}},
    {"a chain that is too long",
     {.status = RunStatus::timeout, .new_checkpoint = true},
     RunVerdict::give_up,
     "100 times",
     {.submissions = 100}},
    {"refused again and again",
     {.status = RunStatus::node_fail},
     RunVerdict::give_up,
     "sbatch refused the job: no account",
     {.refusals = 5, .refusal = "sbatch refused the job: no account"}},

    {"--no-requeue",
     {.status = RunStatus::node_fail, .new_checkpoint = true},
     RunVerdict::give_up,
     "--no-requeue",
     {},
     {.may_start_again = false}},
    {"not wished for",
     {.status = RunStatus::timeout, .new_checkpoint = true},
     RunVerdict::give_up,
     "recovery.requeue_on does not list timeout",
     {},
     {.requeue_on = {"node_fail"}}},
    {"a cancel of the system counts as a lost node",
     {.status = RunStatus::cancelled, .canceller = Canceller::system},
     RunVerdict::give_up,
     "does not list node_fail",
     {},
     {.requeue_on = {"timeout"}}},
    {"too many jobs",
     {.status = RunStatus::node_fail},
     RunVerdict::wait,
     "20 of your jobs",
     {},
     {},
     {.most_jobs = 20, .jobs = 20}},
    {"too many jobs are no reason to wait for what is hopeless",
     {.status = RunStatus::timeout},
     RunVerdict::give_up,
     "would do so again",
     {},
     {},
     {.most_jobs = 20, .jobs = 20}},
};

TEST(DaemonPolicy, EveryCase) {
  for (const auto& one : cases) {
    const auto action = decide(one.ended, one.wishes, one.past, one.caps);
    EXPECT_EQ(action.verdict, one.verdict) << one.what << ": " << action.reason;
    EXPECT_NE(action.reason.find(one.reason), std::string::npos)
        << one.what << ": " << action.reason;
  }
}

/// Whatever else is true: these are never submitted again.
TEST(DaemonPolicy, WhatIsNeverSubmittedAgain) {
  int submitted = 0;
  for (const auto status :
       {RunStatus::completed, RunStatus::failed, RunStatus::cancelled, RunStatus::timeout,
        RunStatus::preempted, RunStatus::node_fail, RunStatus::out_of_memory}) {
    for (unsigned bits = 0; bits < 1U << 6; ++bits) {
      const auto is = [bits](unsigned bit) { return (bits >> bit & 1U) != 0; };
      const EndedJob ended{.status = status,
                           .exit_code = is(0) ? 93 : 1,
                           .array = is(1),
                           .slurm = !is(2),
                           .canceller = is(3) ? Canceller::system : Canceller::user,
                           .cancel_wished = is(4),
                           .new_checkpoint = is(5)};
      for (const int without_progress : {0, 2}) {
        const auto action = decide(ended, {}, {.without_progress = without_progress}, {});
        if (action.verdict != RunVerdict::submit) continue;
        ++submitted;
        EXPECT_FALSE(is(0) || is(1) || is(2) || is(4));
        EXPECT_TRUE(is(5) || (without_progress == 0 && status != RunStatus::timeout));
        EXPECT_TRUE(status != RunStatus::completed && status != RunStatus::failed);
        EXPECT_TRUE(status != RunStatus::cancelled || is(3));
      }
    }
  }
  EXPECT_GT(submitted, 10);
}

TEST(DaemonPolicy, NodesToLeaveOutAreAddedToTheUsersOwn) {
  EXPECT_EQ(exclude_list("", {}), "");
  EXPECT_EQ(exclude_list("n[3-4]", {}), "n[3-4]");
  EXPECT_EQ(exclude_list("", {"n1", "n2"}), "n1,n2");
  EXPECT_EQ(exclude_list("n[3-4],n1", {"n1", "n2"}), "n[3-4],n1,n2");
}

}  // namespace
}  // namespace dllaunch

// An allocation that is held after an error of the program, on the real test Slurm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "tests/end_to_end/local_run.hpp"
#include "tests/end_to_end/test_cluster.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* word_program = R"(if [ "$WORD" != right ]; then
  echo "ImportError: no module named $WORD" >&2
  exit 5
fi
echo "$WORD" > "${0%/*}/done-$RANK"
)";

class SlurmHold : public OnTestCluster {
 protected:
  static void SetUpTestSuite() {
    start_cluster({"--nodes", "2", "--names", "nid%03d", "--cpus", "2"});
  }
  void TearDown() override {
    if (!work_) return;
    cluster_->on_head({"scancel", "--user=root"});
    work_->wait(30s);
  }

  void start_and_fail(const std::string& hold) {
    work_->file("program", word_program);
    const auto job =
        work_->file("job.yaml",
                    "name: hold\nresources: {nodes: 2, ranks_per_node: 1, device: cpu, time: 10}\n"
                    "environment: {variables: {WORD: wrong}}\nrun: [bash, " +
                        work_->path() +
                        "/program]\nrecovery: {max_restarts: 0, grace_seconds: 10, "
                        "hold_on_error: \"" +
                        hold + "\"}\n");
    work_->start({"run", job, "--run-dir", work_->run_dir()});
    ASSERT_TRUE(happens_within(60s, [&] { return holds() > 0 || !work_->running(); }));
  }
  /// Another command meanwhile.
  Ended run(const std::vector<std::string>& args) {
    Workplace place(cluster_->share() + "/other");
    place.before = work_->before;
    place.environment = work_->environment;
    return place.run(args);
  }
  /// Of the attached terminal, which looks once a second.
  bool shows(const std::string& words) const {
    return happens_within(
        20s, [&] { return work_->text_of("stderr").find(words) != std::string::npos; });
  }
  int holds() const {
    const auto text = journal();
    int count = 0;
    for (auto at = text.find(hold_); at != std::string::npos; at = text.find(hold_, at + 1))
      ++count;
    return count;
  }
  std::string journal() const { return work_->text_of("run/supervisor.jsonl"); }

  static constexpr const char* hold_ = R"("next":"hold")";
};

TEST_F(SlurmHold, IsFixedAndGoesOn) {
  start_and_fail("00:05:00");
  EXPECT_THAT(run({"status", work_->run_dir()}).out,
              HasSubstr("exited with code 5 (ImportError: no module named wrong); fix it and run: "
                        "dllaunch retry " +
                        work_->run_dir()));
  ASSERT_TRUE(shows(": held until ")) << work_->text_of("stderr");
  const auto other = run({"retry", work_->run_dir(), "--set", "resources.time=20"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr(R"(resources.time: "10" -> "20")"));
  const auto changed = run({"retry", work_->run_dir(), "--set", "environment.variables.WORD=odd"});
  EXPECT_EQ(changed.exit_code, 0) << changed.err << journal();
  EXPECT_THAT(changed.out, HasSubstr(R"(WORD: "wrong" -> "odd")"));
  ASSERT_TRUE(happens_within(60s, [&] { return holds() == 2; })) << journal();
  ASSERT_TRUE(shows(": retried at ")) << work_->text_of("stderr");
  // The script is another one now, and the change of before is kept.
  work_->file("program", "echo \"$WORD\" > \"${0%/*}/done-$RANK\"\n");
  const auto fixed = run({"retry", work_->run_dir()});
  EXPECT_EQ(fixed.exit_code, 0) << fixed.err << journal();
  const auto ended = work_->wait();
  EXPECT_EQ(ended.exit_code, 0) << ended.err << journal();
  EXPECT_THAT(ended.err, HasSubstr("; fix it and run: dllaunch retry " + work_->run_dir() + "\n"));
  EXPECT_EQ(work_->text_of("done-1"), "odd\n");
  EXPECT_THAT(cluster_->on_head({"scontrol", "show", "job", work_->job_id()}),
              HasSubstr("Restarts=0"))
      << "the same allocation";
  EXPECT_THAT(run({"report", work_->run_dir()}).out, HasSubstr("held after errors"));
  const auto late = run({"retry", work_->run_dir()});
  EXPECT_EQ(late.exit_code, 2);
  EXPECT_THAT(late.err, HasSubstr("dllaunch run"));
}

/// Between the order and what tells the supervisor of it, by a signal that strace sends then.
TEST_F(SlurmHold, ARetryThatWasKilledHalfWayIsCompletedByTheNext) {
  if (!PosixSystem(Console{}).find_program("strace")) GTEST_SKIP() << "no strace";
  start_and_fail("00:05:00");
  work_->file("program", "echo good > \"${0%/*}/done-$RANK\"\n");
  const auto lease = entries_of(work_->run_dir() + "/.lease");
  ASSERT_FALSE(lease.empty());
  const auto order = work_->run_dir() + "/.retry/" + *lease.rbegin();
  Workplace place(cluster_->share() + "/killed");
  place.before = work_->before;
  place.before.insert(place.before.end(), {"strace", "-f", "-o", "/dev/null", "-P", order + ".bell",
                                           "-e", "inject=openat:signal=KILL"});
  place.environment = work_->environment;
  EXPECT_NE(place.run({"retry", work_->run_dir()}).exit_code, 0);
  ASSERT_TRUE(std::filesystem::exists(order)) << journal();
  const auto next = run({"retry", work_->run_dir()});
  EXPECT_EQ(next.exit_code, 0) << next.err << journal();
  EXPECT_THAT(next.out, HasSubstr("the ranks start again in job " + work_->job_id()));
  EXPECT_EQ(work_->wait().exit_code, 0) << journal();
  EXPECT_EQ(work_->text_of("done-1"), "good\n");
}

TEST_F(SlurmHold, IsRetriedWhereItsDirectoryWasWhenTheJobBegan) {
  start_and_fail("00:05:00");
  work_->file("program", "echo good > \"${0%/*}/done-$RANK\"\n");
  const auto moved = work_->run_dir() + "-moved";
  std::filesystem::rename(work_->run_dir(), moved);
  const auto refused = run({"retry", moved});
  EXPECT_EQ(refused.exit_code, 2) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr(moved + " was " + work_->run_dir() + " when its job began"));
  EXPECT_THAT(refused.err, HasSubstr("try: mv " + moved + " " + work_->run_dir() + "\n"));
  // The supervisor has looked four times a second.
  EXPECT_FALSE(std::filesystem::exists(work_->run_dir()));
  std::filesystem::rename(moved, work_->run_dir());
  const auto retried = run({"retry", work_->run_dir()});
  EXPECT_EQ(retried.exit_code, 0) << retried.err << journal();
  EXPECT_EQ(work_->wait().exit_code, 0) << journal();
}

TEST_F(SlurmHold, NobodyComes) {
  start_and_fail("00:00:01");
  const auto ended = work_->wait();
  EXPECT_THAT(ended.err, HasSubstr("the allocation was held, and nobody retried"));
  EXPECT_THAT(cluster_->on_head({"scontrol", "show", "job", work_->job_id()}),
              HasSubstr("ExitCode=5:0"));
  EXPECT_THAT(run({"report", work_->run_dir()}).out, HasSubstr("wasted by interruptions"));
}

TEST_F(SlurmHold, IsCancelled) {
  start_and_fail("00:05:00");
  const auto cancelled = run({"cancel", work_->run_dir()});
  EXPECT_EQ(cancelled.exit_code, 0) << cancelled.err;
  EXPECT_THAT(work_->wait().err, HasSubstr("asked to stop")) << "long before the hold's end";
  const auto summary = Json::parse(work_->text_of("run/summary.json"), nullptr, false);
  EXPECT_EQ(summary.value("status", ""), "cancelled");
}

}  // namespace
}  // namespace dllaunch

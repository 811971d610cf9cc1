// An allocation that is held after an error of the program, on the real test Slurm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

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

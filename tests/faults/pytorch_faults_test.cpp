// What kills jobs, done to a PyTorch script with checkpoints of its own: examples/pytorch-resume
// ends with the weights of a run that nothing was done to.
#include "tests/faults/supervised_faults.hpp"
#include "tests/support/pytorch.hpp"

namespace dllaunch {
namespace {

using testing::AnyOf;
using testing::Ge;
using testing::HasSubstr;
using namespace std::chrono_literals;

class PyTorchFaults : public SupervisedFaults {
 protected:
  void SetUp() override {
    SupervisedFaults::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (!has_pytorch()) GTEST_SKIP() << no_pytorch;
  }

  static std::string job(int epochs) {
    return fmt::format(R"(name: pytorch
resources: {{nodes: 2, ranks_per_node: 1, device: cpu, time: 10}}
environment: {{variables: {{OMP_NUM_THREADS: "1"}}}}
framework: pytorch
run: [/usr/bin/python3, {}/examples/pytorch-resume/train.py, --epochs, "{}"]
runtime: {{stall_seconds: 2, stall_abort_seconds: 40}}
recovery: {{signal: USR2, grace_seconds: 20}}
)",
                       DLLAUNCH_SOURCE_DIR, epochs);
  }
  /// `epochs`: of a machine of which a training needs five to last some seconds.
  void start_script(int epochs, const std::vector<std::string>& sets = {}) {
    epochs_ = epochs * epochs_of_seconds() / 5;
    work_->start(argv(*work_, job(epochs_), sets));
    ASSERT_TRUE(happens_within(
        60s, [&] { return fs::exists(work_->run_dir() + "/checkpoint.pt") || !work_->running(); }));
    ASSERT_TRUE(work_->running()) << work_->text_of("stderr") << journal();
  }

  /// All that ranks have printed.
  static std::string printed(const std::string& run_dir) {
    std::string text;
    std::error_code error;
    for (fs::directory_iterator at(run_dir + "/out", error), end; !error && at != end;
         at.increment(error))
      text += bytes_of(at->path());
    return text;
  }
  /// "weights 3f2a...": printed once, at the end of the whole run.
  static std::string final_weights(const std::string& run_dir) {
    const std::string text = printed(run_dir);
    const auto at = text.find("done: ");
    EXPECT_EQ(at, text.rfind("done: ")) << "it was done twice";
    return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
  }
  static const std::string& undisturbed_script(int epochs) {
    static std::map<int, std::string> known;
    auto& weights = known[epochs];
    if (!weights.empty()) return weights;
    const auto work = place(fmt::format("pytorch-undisturbed-{}", epochs));
    work->start(argv(*work, job(epochs)));
    const auto ended = work->wait(300s);
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    weights = final_weights(work->run_dir());
    EXPECT_THAT(weights, HasSubstr("weights "));
    return weights;
  }

  void expect_script_healed(const testing::Matcher<std::string>& why,
                            std::chrono::seconds limit = 90s) {
    const auto ended = work_->wait(limit);
    ASSERT_EQ(ended.exit_code, 0) << ended.err << journal();
    EXPECT_EQ(final_weights(work_->run_dir()), undisturbed_script(epochs_)) << journal();
    EXPECT_THAT(printed(work_->run_dir()),
                testing::ContainsRegex("goes on with epoch [1-9][0-9]* after"));
    EXPECT_THAT(journal(), why);
    EXPECT_EQ(summary()["status"], "completed");
    EXPECT_THAT(summary()["restarts"].get<int>(), Ge(1));
  }
};

TEST_P(PyTorchFaults, AScriptLosesARank) {
  start_script(60);
  kill(rank(1), SIGKILL);
  expect_script_healed(HasSubstr("was killed by signal 9 (SIGKILL); restart 1 of 3"));
}

/// Its peers wait in a collective for half an hour, as gloo does; nothing touches the heartbeat.
TEST_P(PyTorchFaults, ARankOfAScriptIsStopped) {
  start_script(150, {"runtime.stall_abort_seconds=10"});
  kill(rank(GetParam() % 2), SIGSTOP);
  expect_script_healed(HasSubstr("no progress for"));
}

/// A minute less 35 seconds of grace: asked after 25 seconds, start by start.
TEST_P(PyTorchFaults, AScriptNearsItsTimeLimit) {
  start_script(60,
               {"resources.time=1", "recovery.grace_seconds=35", "runtime.stall_abort_seconds=90"});
  hold_until_asked(1);
  expect_script_healed(HasSubstr("requeueing"), 200s);
}

TEST_P(PyTorchFaults, AUserRequeuesAScript) {
  start_script(150);
  cluster_->on_head({"scontrol", "requeue", work_->job_id()});
  expect_script_healed(HasSubstr("requeued"));
}

TEST_P(PyTorchFaults, ANodeOfAScriptIsPoweredOff) {
  start_script(150);
  lost_.emplace_back("n2");
  ASSERT_TRUE(cluster_->tell("kill-node", {"n2"}));
  expect_script_healed(AnyOf(HasSubstr("lost"), HasSubstr("with its node")), 150s);
}

INSTANTIATE_TEST_SUITE_P(Rounds, PyTorchFaults, testing::Range(0, rounds));

}  // namespace
}  // namespace dllaunch

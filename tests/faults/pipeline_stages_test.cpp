// A rank of a pipeline's stage is killed, stopped or slow, on the real test Slurm: it is named, and
// the weights are those of one process that trains all stages by itself.
#include <random>

#include "tests/faults/supervised_faults.hpp"

namespace dllaunch {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using namespace std::chrono_literals;

/// An epoch is a step, after which the second stage sends far more weights than it computes with.
constexpr const char* wide = R"(name: wide
resources: {nodes: 1, ranks_per_node: 2, device: cpu, time: 10}
environment: {variables: {OMP_NUM_THREADS: "1"}}
train:
  model: {layers: [flatten, {kind: dense, units: 16}, relu, {kind: dense, units: 20000},
                   {kind: dense, units: classes}]}
  backend: reference
  dataset: {kind: synthetic, images: 2, classes: 10, channels: 1, image_size: 28}
  batch_size: 1
  accumulate: 2
  validate_every: 1000
  optimizer: {lr: 0.001, momentum: 0.9}
  checkpoint: {every_epochs: 1}
runtime: {stall_seconds: 1, stall_abort_seconds: 15, pipeline: {stages: 2, cut: [relu1]}}
)";

class PipelineStages : public SupervisedFaults {
 protected:
  /// Rank 1, on n2, is the second stage. The cut is given, so that starts do not measure it.
  void start_stages() {
    epochs_ = 8 * epochs_ / 5;
    start_training({"runtime.pipeline.stages=2", "runtime.pipeline.cut=[pool1]",
                    "train.accumulate=4", "train.dataset.images=256"});
  }
  std::vector<std::string> lines_of(const std::string& kind) const {
    std::vector<std::string> lines;
    for (const auto& event : events_of(work_->run_dir(), kind)) lines.push_back(event["line"]);
    return lines;
  }
  std::string weights_without_stages() {
    Json job = Json::parse(work_->text_of("run/train.json"));
    job["runtime"].erase("pipeline");
    Workplace alone(work_->path() + "-without-stages");
    alone.program = std::string(DLLAUNCH_BIN_DIR) + "/dltrain";
    alone.environment = {{"OMP_NUM_THREADS", "1"}};
    const auto ended = alone.run({"--config", alone.file("train.json", job.dump())});
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    return weights_of(alone.path());
  }
  /// Stops the second stage again and again, until the first waits for its weights.
  void stop_in_gather() {
    const auto stopped = rank(1);
    std::mt19937 random(static_cast<unsigned>(GetParam()));
    for (std::string said; said.find("(checkpoint for ") == std::string::npos ||
                           said.find(" has waited ") == std::string::npos;) {
      kill(stopped, SIGCONT);
      std::this_thread::sleep_for(std::chrono::milliseconds(10 + random() % 50));
      const auto before = lines_of("stall").size();
      kill(stopped, SIGSTOP);
      ASSERT_TRUE(happens_within(10s, [&] {
        for (const auto& line : lines_of("stall")) said = line;
        return lines_of("stall").size() > before &&
               said.find(" continued after ") == std::string::npos;
      })) << "the run has ended before";
    }
  }
  void expect_end(int restarts, int steps) {
    const auto ended = work_->wait(120s);
    EXPECT_EQ(ended.exit_code, 0) << ended.err << journal();
    const auto expected = weights_without_stages();
    EXPECT_THAT(expected, testing::StartsWith(fmt::format("step-{:08}", steps)));
    EXPECT_TRUE(weights_of(work_->run_dir()) == expected) << journal();
    EXPECT_EQ(steps_in_history(work_->run_dir()), steps);
    EXPECT_EQ(summary()["restarts"], restarts) << journal();
    EXPECT_THAT(cluster_->on_head({"scontrol", "show", "job", work_->job_id()}),
                HasSubstr("Restarts=0"));
  }
};

TEST_P(PipelineStages, ARankOfAStageIsKilled) {
  start_stages();
  if (HasFailure()) return;
  kill(rank(1), SIGKILL);
  expect_end(1, 8 * epochs_);
  EXPECT_THAT(journal(),
              HasSubstr("rank 1 on n2 was killed by signal 9 (SIGKILL); restart 1 of 3"));
}

TEST_P(PipelineStages, ARankOfAStageIsStopped) {
  start_stages();
  if (HasFailure()) return;
  kill(rank(1), SIGSTOP);
  expect_end(1, 8 * epochs_);
  // No other rank of its node could say more.
  EXPECT_THAT(lines_of("stall"),
              Contains(AllOf(HasSubstr("rank 0 has waited"), HasSubstr("no word from n2 (rank 1)"),
                             HasSubstr("gave up"))));
}

/// Where a checkpoint is put together, of which nothing is left.
TEST_P(PipelineStages, ARankOfAStageIsStoppedInAGather) {
  epochs_ = 64;
  start_training({}, wide);
  if (HasFailure()) return;
  stop_in_gather();
  if (HasFailure()) return;
  expect_end(1, epochs_);
  EXPECT_THAT(lines_of("stall"),
              Contains(AllOf(HasSubstr("is stopped (checkpoint for"), HasSubstr("gave up"))));
}

/// Stopped for four fifths of the time, the first stage takes longer than the second, which has
/// more to compute.
TEST_P(PipelineStages, ARankOfAStageIsSlow) {
  start_stages();
  if (HasFailure()) return;
  for (std::vector<pid_t> slow; !(slow = processes_of(work_->run_dir(), 0)).empty();) {
    kill(slow.front(), SIGSTOP);
    std::this_thread::sleep_for(400ms);
    kill(slow.front(), SIGCONT);
    std::this_thread::sleep_for(100ms);
  }
  expect_end(0, 8 * epochs_);
  EXPECT_THAT(work_->text_of("stderr") + work_->text_of("stdout"),
              HasSubstr("stage 1 of 2 computes"));
}

INSTANTIATE_TEST_SUITE_P(Rounds, PipelineStages, testing::Range(0, rounds));

}  // namespace
}  // namespace dllaunch

// Flipped bits on real ranks under mpirun: replicas notice, name the rank, and write no checkpoint.
#include "trainer/training/guard.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "support/json.hpp"
#include "tests/support/tier.hpp"
#include "tests/trainer/training/run_program.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

/// 12 steps, compared after every fourth.
Json small_job() {
  return Json::parse(R"({
    "model": "lenet", "backend": "reference", "batch_size": 4, "max_steps": 12, "epochs": 9,
    "validate_every": 0, "dataset": {"kind": "synthetic", "images": 100, "workers": 1},
    "optimizer": {"lr": 0.02, "momentum": 0.9}, "checkpoint": {"every_epochs": null},
    "reports": {"csv": false, "tensorboard": false},
    "runtime": {"integrity": {"every_steps": 4}}})");
}

class GuardedRanks : public testing::Test {
 protected:
  void SetUp() override {
    if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  }

  RunningProgram::Ended train(int ranks, const Json& job, const std::string& name,
                              const std::string& flip = "") {
    write_text(folder_ / name / "train.json", job.dump());
    const std::string dltrain = std::string(DLLAUNCH_BIN_DIR) + "/dltrain";
    return run_program(
        on_ranks(ranks, {"env", "OMP_NUM_THREADS=1", "DLLAUNCH_FLIP_BIT=" + flip, dltrain,
                         "--config", (folder_ / name / "train.json").string()}));
  }
  /// The only one, as JSON.
  Json corrupted(const std::string& name) {
    const auto found = events_of(folder_ / name, "corrupted");
    EXPECT_EQ(found.size(), 1U);
    return found.empty() ? Json::object() : found.back();
  }
  bool has_checkpoint(const std::string& name) {
    return std::filesystem::exists(folder_ / name / "checkpoints");
  }

  ScratchFolder folder_;
};

TEST_F(GuardedRanks, OfThreeTheMajorityIsRight) {
  const std::pair<const char*, const char*> flips[] = {{"2:6:weights:123457", "weights"},
                                                       {"0:5:states:4000030", "weights"},
                                                       {"1:8:gradients:777", "gradients"}};
  for (const auto& [flip, part] : flips) {
    const auto ended = train(3, small_job(), flip, flip);
    EXPECT_EQ(ended.exit_code, 1) << ended.output;
    const Json event = corrupted(flip);
    EXPECT_EQ(event["ranks"], Json::array({flip[0] - '0'})) << event.dump();
    EXPECT_EQ(event["how"], "majority");
    EXPECT_EQ(event["step"], 8);
    EXPECT_EQ(event["since"], 4);
    EXPECT_THAT(event["what"].dump(), HasSubstr(part)) << flip;
    EXPECT_THAT(ended.output, HasSubstr("dltrain: error: " + event["line"].get<std::string>()));
    EXPECT_FALSE(has_checkpoint(flip));
  }
}

/// The run ends as one that nothing was done to.
TEST_F(GuardedRanks, OfTwoTheStepsAreComputedAgain) {
  ASSERT_EQ(train(2, small_job(), "undisturbed").exit_code, 0);
  for (const std::string flip : {"0:5:weights:65537", "1:8:states:31", "1:6:gradients:1000030"}) {
    const auto ended = train(2, small_job(), flip, flip);
    EXPECT_EQ(ended.exit_code, 1) << ended.output;
    EXPECT_EQ(corrupted(flip)["how"], "pending");
    EXPECT_EQ(corrupted(flip)["ranks"], Json::array());
    EXPECT_FALSE(has_checkpoint(flip));
    EXPECT_TRUE(std::filesystem::exists(folder_ / flip / "integrity.json"));

    const auto again = train(2, small_job(), flip);
    EXPECT_EQ(again.exit_code, 1) << again.output;
    const auto events = events_of(folder_ / flip, "corrupted");
    ASSERT_EQ(events.size(), 2U) << again.output;
    EXPECT_EQ(events[1]["how"], "recomputed");
    EXPECT_EQ(events[1]["ranks"], Json::array({flip[0] - '0'})) << events[1].dump();
    EXPECT_EQ(events[1]["since"], 4) << "not the step of the second computation";
    EXPECT_FALSE(std::filesystem::exists(folder_ / flip / "integrity.json"));

    const auto last = train(2, small_job(), flip);
    EXPECT_EQ(last.exit_code, 0) << last.output;
    EXPECT_THAT(last.output, HasSubstr("step-00000008")) << "what was computed again is kept";
    EXPECT_EQ(weights_at(folder_ / flip, "step-00000012"),
              weights_at(folder_ / "undisturbed", "step-00000012"));
  }
}

/// However rarely ranks compare otherwise.
TEST_F(GuardedRanks, NoCheckpointIsWrittenUncompared) {
  Json job = small_job();
  job["runtime"]["integrity"]["every_steps"] = 1000;
  const auto ended = train(3, job, "rarely", "1:11:weights:5");
  EXPECT_EQ(ended.exit_code, 1) << ended.output;
  EXPECT_EQ(corrupted("rarely")["step"], 12);
  EXPECT_FALSE(has_checkpoint("rarely"));
  job["runtime"]["integrity"]["every_steps"] = 0;
  EXPECT_EQ(train(3, job, "never", "1:11:weights:5").exit_code, 0);
  EXPECT_TRUE(has_checkpoint("never"));
}

TEST_F(GuardedRanks, ADamagedRecordIsOnlySaid) {
  write_text(folder_ / "damaged" / "integrity.json", "{\"since\":1}");
  const auto ended = train(2, small_job(), "damaged");
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("integrity.json: "));
  EXPECT_THAT(ended.output, testing::Not(HasSubstr("run elsewhere"))) << "they do not";
  EXPECT_FALSE(std::filesystem::exists(folder_ / "damaged" / "integrity.json"));
}

TEST_F(GuardedRanks, ABadDrillIsRefused) {
  const auto ended = train(2, small_job(), "bad", "1:weights");
  EXPECT_EQ(ended.exit_code, 2) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("DLLAUNCH_FLIP_BIT: expected RANK:STEP:PART:BIT"));
  const auto none = train(3, small_job(), "none", "99:4:weights:1");
  EXPECT_EQ(none.exit_code, 2) << none.output;
  EXPECT_THAT(none.output, HasSubstr("there is no rank 99: the job has 3 ranks"));
}

TEST_F(GuardedRanks, ADrillThatShowsNothingIsSaid) {
  const auto late = train(2, small_job(), "late", "1:13:weights:1");
  EXPECT_EQ(late.exit_code, 0) << late.output;
  EXPECT_THAT(late.output,
              HasSubstr("no bit was flipped at step 13: this start trained steps 1 to 12"));
  Json job = small_job();
  job["runtime"]["integrity"]["every_steps"] = 0;
  const auto blind = train(2, job, "blind", "1:4:weights:1");
  EXPECT_EQ(blind.exit_code, 0) << blind.output;
  EXPECT_THAT(blind.output, HasSubstr("DLLAUNCH_FLIP_BIT: nothing compares what the ranks hold"));
}

/// Settings in which ranks hold, exchange or update their parameters in other ways.
TEST_F(GuardedRanks, NoneIsSuspectedWithoutAFlip) {
  for (const char* change :
       {R"({"optimizer": {"shard": true}})", R"({"ema": {"decay": 0.9}})",
        R"({"runtime": {"gradient_lag": 1}})", R"({"runtime": {"compression": "fp16"}})",
        R"({"optimizer": {"name": "lamb", "momentum": null, "clip_norm": 0.5}})",
        R"({"freeze": ["conv1.*", "fc2.weight"]})", R"({"accumulate": 2})",
        R"({"backend": "onednn"})", R"({"runtime": {"allreduce": "ring"}})",
        R"({"runtime": {"split_dense": ["fc1"]}})"}) {
    Json job = small_job();
    const Json changes = Json::parse(change);
    for (const auto& [block, keys] : changes.items()) {
      if (!keys.is_object()) {
        job[block] = keys;
        continue;
      }
      for (const auto& [key, value] : keys.items()) job[block][key] = value;
    }
    job["runtime"]["integrity"]["every_steps"] = 1;
    const auto ended = train(3, job, change[2] + std::to_string(std::string(change).size()));
    EXPECT_EQ(ended.exit_code, 0) << change << ended.output;
  }
}

TEST_F(GuardedRanks, NoFalseAlarmInAHundredThousandSteps) {
  if (!full_tier()) GTEST_SKIP() << "only with --full";
  Json job = small_job();
  job["model"] = "mlp";
  job["batch_size"] = 1;
  job["epochs"] = 100'000;
  job["max_steps"] = 100'000;
  job["backend"] = "onednn";
  job["runtime"]["integrity"]["every_steps"] = 1;
  const auto began = std::chrono::steady_clock::now();
  const auto ended = train(3, job, "long");
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  EXPECT_EQ(events_of(folder_ / "long", "corrupted").size(), 0U);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  std::cout << "100,000 steps, each compared, in " << seconds.count() << " s\n";
}

}  // namespace
}  // namespace dllaunch

// Trainings that start from PyTorch's weights, some of them frozen, and the way back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/communicators/opening/communicators.hpp"
#include "support/json.hpp"
#include "tests/support/pytorch.hpp"
#include "tests/trainer/data/datasets/cifar_bytes.hpp"
#include "tests/trainer/training/run_program.hpp"
#include "tests/trainer/training/small_training.hpp"
#include "trainer/session/model_tensors.hpp"
#include "trainer/session/session.hpp"
#include "trainer/tensors/tensor_values.hpp"
#include "trainer/training/prepare.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

const std::string bin = DLLAUNCH_BIN_DIR;
constexpr const char* last_step = "step-00000020";

RunningProgram::Ended python(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"/usr/bin/python3", DLLAUNCH_SOURCE_DIR
                                       "/tests/trainer/training/fine_tuning.py"});
  return run_program(arguments);
}

/// A network written by PyTorch, trained on 24 images, all of them in each step.
class FineTuning : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_pytorch()) GTEST_SKIP() << no_pytorch;
    // Once for all: PyTorch takes longer to import than most cases.
    static const std::string start = [this] {
      const auto written = python({"write", file(), "10"});
      EXPECT_EQ(written.exit_code, 0) << written.output;
      return read_text(file());
    }();
    ASSERT_FALSE(start.empty());
    write_text(file(), start);
    write_text(folder_ / "data/data_batch_1.bin", cifar_records(0, 24));
    write_text(folder_ / "data/test_batch.bin", cifar_records(40, 10));
  }

  std::string file() const { return (folder_ / "start.safetensors").string(); }
  std::string data() const { return (folder_ / "data").string(); }

  Json job() const {
    Json job = Json::parse(R"({
      "model": {"layers": [
        {"kind": "conv2d", "name": "conv1", "channels": 8, "kernel": 3, "padding": 1},
        {"kind": "batch_norm", "name": "bn1"}, "relu",
        {"kind": "conv2d", "name": "conv2", "channels": 8, "kernel": 3, "stride": 2},
        {"kind": "batch_norm", "name": "bn2"}, "relu", "global_avg_pool",
        {"kind": "dense", "name": "fc", "units": "classes"}]},
      "batch_size": 24, "epochs": 20, "dataset": {"kind": "cifar10", "workers": 1},
      "freeze": ["conv1", "bn1"], "checkpoint": {"every_epochs": 20},
      "optimizer": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}})");
    job["dataset"]["path"] = data();
    job["init_from"] = file();
    return job;
  }

  RunningProgram::Ended train_on(int ranks, Json job, const std::string& run) const {
    job["batch_size"] = job["batch_size"].get<int>() / ranks;
    write_text(folder_ / run / "train.json", job.dump());
    const std::vector<std::string> command{"env", "OMP_WAIT_POLICY=passive", bin + "/every_loss",
                                           (folder_ / run / "train.json").string(),
                                           (folder_ / run / "losses").string()};
    return run_program(ranks == 1 ? command : on_ranks(ranks, command));
  }

  /// An answer for each run.
  Json follow(const std::vector<std::string>& runs) const {
    std::vector<std::string> words{"follow", file(), data()};
    for (const auto& run : runs) words.push_back((folder_ / run).string());
    const auto asked = python(words);
    EXPECT_EQ(asked.exit_code, 0) << asked.output;
    if (asked.exit_code != 0) return Json::array();
    return Json::parse(asked.output.substr(asked.output.find('{')))["runs"];
  }

  ScratchFolder folder_;
};

/// Frozen or not, a normalisation's statistics move, to the same numbers as in PyTorch.
TEST_F(FineTuning, MatchesPyTorch) {
  const auto ended = train_on(1, job(), "run");
  ASSERT_EQ(ended.exit_code, 0) << ended.output;
  const Json answers = follow({"run"});
  ASSERT_EQ(answers.size(), 1U);
  const Json& answer = answers[0];
  EXPECT_LT(answer["losses"], 1e-6) << answer;
  EXPECT_LT(answer["distance"], 1e-4) << answer;
  EXPECT_EQ(answer["frozen"], 4);
  EXPECT_EQ(answer["changed"], Json::array());
  EXPECT_EQ(answer["still"], Json::array());
  EXPECT_EQ(answer["steps"], 5 + 20);
  EXPECT_EQ(answer["statistics"], true);
}

TEST_F(FineTuning, FrozenWeightsKeepTheirBitsOnAnyRanks) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  std::vector<std::string> runs;
  for (const int ranks : {1, 2}) {
    for (const bool shard : {false, true}) {
      runs.push_back("run" + std::to_string(ranks) + (shard ? "-sharded" : ""));
      Json shared = job();
      shared["optimizer"]["shard"] = shard;
      const auto ended = train_on(ranks, shared, runs.back());
      ASSERT_EQ(ended.exit_code, 0) << runs.back() << ended.output;
    }
  }
  const Json answers = follow(runs);
  ASSERT_EQ(answers.size(), runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    SCOPED_TRACE(runs[i]);
    EXPECT_EQ(answers[i]["frozen"], 4);
    EXPECT_EQ(answers[i]["changed"], Json::array());
    EXPECT_EQ(answers[i]["still"], Json::array());
  }
  EXPECT_EQ(weights_at(folder_ / "run1", last_step),
            weights_at(folder_ / "run1-sharded", last_step));
}

TEST_F(FineTuning, ResumesFromItsOwnCheckpoint) {
  ASSERT_EQ(train_on(1, job(), "whole").exit_code, 0);
  Json stopped = job();
  stopped["max_steps"] = 2;
  ASSERT_EQ(train_on(1, stopped, "stopped").exit_code, 0);
  std::filesystem::remove(file());
  const auto resumed = train_on(1, job(), "stopped");
  ASSERT_EQ(resumed.exit_code, 0) << resumed.output;
  EXPECT_EQ(weights_at(folder_ / "stopped", last_step), weights_at(folder_ / "whole", last_step));
}

TEST_F(FineTuning, AnotherClassifierStartsFromTheSeed) {
  ASSERT_EQ(python({"write", file(), "7"}).exit_code, 0);
  const auto refused = train_on(1, job(), "refused");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.output, HasSubstr("train.init_from: " + file() + ": unfit: fc."));
  EXPECT_THAT(refused.output, HasSubstr("fc.bias is [7], this run needs [10]"));
  EXPECT_THAT(refused.output, HasSubstr("fc.weight is [7,8], this run needs [10,8]"));
  Json skipping = job();
  skipping["init_skip"] = {"fc"};
  const auto ended = train_on(1, skipping, "skipping");
  ASSERT_EQ(ended.exit_code, 0) << ended.output;
}

/// A whole resnet50: every tensor of the session equals the file's, widened.
TEST_F(FineTuning, ReadsResNet50InHalfPrecision) {
  ASSERT_EQ(python({"write_resnet", file()}).exit_code, 0);
  TrainConfig config = small_config("auto");
  config.model = "resnet50";
  config.dataset = "cifar10";
  config.data = {};
  config.data.path = data();
  config.batch_size = 2;
  config.fine_tuning = {.init_from = file(), .freeze = {"!fc"}};
  auto communicator = *open_communicator("solo", RankEnv{});
  auto session =
      prepare({.config = config, .run_dir = folder_ / "session", .threads = 1}, *communicator);
  ASSERT_TRUE(session) << session.error().what;
  EXPECT_THAT(session->started_with, HasSubstr("start.safetensors: 320 tensors"));
  const auto given = read_safetensors(file());
  ASSERT_TRUE(given) << given.error().what;
  const auto tensors = snapshot(*session, checkpoint_tensors(*session)).weights.tensors;
  ASSERT_EQ(tensors.size(), 320u);
  int halves = 0;
  for (const Tensor& ours : tensors) {
    const auto theirs = std::ranges::find(given->tensors, ours.name, &Tensor::name);
    ASSERT_NE(theirs, given->tensors.end()) << ours.name;
    halves += theirs->type == DType::f16 ? 1 : 0;
    EXPECT_EQ(ours.data, as_type(*theirs, ours.type).data) << ours.name;
  }
  EXPECT_EQ(halves, 267);
}

}  // namespace
}  // namespace dllaunch

// Trainings with batch normalisation: its running statistics must survive.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/json.hpp"
#include "tests/trainer/data/datasets/cifar_bytes.hpp"
#include "tests/trainer/training/run_program.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

const std::string bin = DLLAUNCH_BIN_DIR;

/// 24 images in three steps of 8, and 10 for validation.
Json residual_job(const std::filesystem::path& data) {
  write_text(data / "data_batch_1.bin", cifar_records(0, 24));
  write_text(data / "test_batch.bin", cifar_records(40, 10));
  Json job = Json::parse(R"({
    "model": "resnet50", "batch_size": 8, "epochs": 2,
    "dataset": {"kind": "cifar10", "workers": 1}, "optimizer": {"lr": 0.01},
    "checkpoint": {"every_epochs": 1, "keep": 3}})");
  job["dataset"]["path"] = data.string();
  return job;
}

void train_on(int ranks, Json job, const std::filesystem::path& run_dir) {
  job["batch_size"] = job["batch_size"].get<int>() / ranks;
  write_text(run_dir / "train.json", job.dump());
  // Spinning threads are slow beside other tests.
  const std::vector<std::string> command{"env", "OMP_WAIT_POLICY=passive", bin + "/every_loss",
                                         (run_dir / "train.json").string(),
                                         (run_dir / "losses").string()};
  const auto ended = run_program(ranks == 1 ? command : on_ranks(ranks, command));
  ASSERT_EQ(ended.exit_code, 0) << ended.output;
}

/// Trained once for all cases, as are the images written.
const std::filesystem::path& whole_on_one_rank() {
  static const ScratchFolder folder;
  static const std::filesystem::path run_dir = [] {
    train_on(1, residual_job(folder / "data"), folder / "run");
    return folder / "run";
  }();
  return run_dir;
}

TEST(ResidualTraining, ResumesBitForBit) {
  const ScratchFolder folder;
  const auto& whole_run = whole_on_one_rank();
  Json job = residual_job(folder / "data");
  job["max_steps"] = 4;  // one into the second epoch
  train_on(1, job, folder / "stopped");
  job.erase("max_steps");
  train_on(1, job, folder / "stopped");
  EXPECT_EQ(weights_at(folder / "stopped", "step-00000006"),
            weights_at(whole_run, "step-00000006"));
  const Json resumed = events_of(folder / "stopped", "epoch").back();
  const Json whole = events_of(whole_run, "epoch").back();
  EXPECT_EQ(resumed["val_loss"], whole["val_loss"]);
}

/// On one rank and on two, PyTorch reads the same names and numbers.
TEST(ResidualTraining, PyTorchLoadsTheCheckpointAndValidatesAlike) {
  const ScratchFolder folder;
  const Json job = residual_job(folder / "data");
  for (const int ranks : {1, 2}) {
    if (ranks > 1 && !have_mpirun()) GTEST_SKIP() << "no mpirun";
    SCOPED_TRACE(ranks);
    const auto run_dir = ranks == 1 ? whole_on_one_rank() : folder / std::to_string(ranks);
    if (ranks > 1) train_on(ranks, job, run_dir);
    const Json ours = events_of(run_dir, "epoch").back();
    const auto asked = run_program(
        {"/usr/bin/python3", DLLAUNCH_SOURCE_DIR "/tests/trainer/training/torch_networks.py",
         "evaluate", "resnet50", (run_dir / "checkpoints/step-00000006").string(),
         (folder / "data").string()});
    if (asked.output.find("No module named 'torch'") != std::string::npos) {
      GTEST_SKIP() << "/usr/bin/python3 cannot import torch: scripts/install-deps --test";
    }
    ASSERT_EQ(asked.exit_code, 0) << asked.output;
    const Json theirs = Json::parse(asked.output.substr(asked.output.find('{')));
    const double loss = ours["val_loss"];
    EXPECT_NEAR(theirs["loss"], loss, 1e-4 * loss);
    EXPECT_EQ(theirs["accuracy"], ours["val_accuracy"]);
    EXPECT_EQ(theirs["steps"], 6) << "counted by each normalisation";
  }
}

}  // namespace
}  // namespace dllaunch

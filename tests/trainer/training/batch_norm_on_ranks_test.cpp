// Trainings with `sync_batch_norm`: any number of ranks must equal one rank with all their images.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/json.hpp"
#include "tests/trainer/data/datasets/cifar_bytes.hpp"
#include "tests/trainer/data/datasets/npy_bytes.hpp"
#include "tests/trainer/training/process_of_rank.hpp"
#include "tests/trainer/training/run_program.hpp"
#include "tests/trainer/training/small_training.hpp"
#include "trainer/backends/table/backends.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string bin = DLLAUNCH_BIN_DIR;

/// 110 images in steps of 24, 14 in the last step of an epoch. Buckets are small, so there are
/// many.
Json small_job() {
  return Json::parse(R"({
    "model": {"layers": [
      {"kind": "conv2d", "channels": 8, "kernel": 3, "padding": 1, "bias": false}, "batch_norm",
      {"kind": "relu", "name": "trunk"},
      {"kind": "conv2d", "channels": 8, "kernel": 3, "padding": 1, "bias": false}, "batch_norm",
      {"kind": "add", "of": ["batch_norm2", "trunk"]}, "relu", "global_avg_pool",
      {"kind": "dense", "units": "classes"}]},
    "backend": "reference", "precision": "fp64", "sync_batch_norm": true,
    "epochs": 2, "validate_every": 2,
    "dataset": {"kind": "synthetic", "images": 110, "image_size": 10, "workers": 1},
    "optimizer": {"lr": 0.05, "momentum": 0.9}, "runtime": {"bucket_mb": 0.0001}})");
}

struct Curve {
  std::vector<double> losses;
  double val_loss = 0;
};

Curve train_on(int ranks, Json job, const std::filesystem::path& run_dir) {
  job["batch_size"] = 24 / ranks;
  write_text(run_dir / "train.json", job.dump());
  const std::vector<std::string> command{"env",
                                         "OMP_WAIT_POLICY=passive",
                                         "OMP_NUM_THREADS=1",
                                         bin + "/every_loss",
                                         (run_dir / "train.json").string(),
                                         (run_dir / "losses").string()};
  const auto ended = run_program(ranks == 1 ? command : on_ranks(ranks, command));
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  Curve curve;
  std::ifstream in(run_dir / "losses");
  for (double loss = 0; in >> loss;) curve.losses.push_back(loss);
  curve.val_loss = events_of(run_dir, "epoch").back()["val_loss"];
  return curve;
}

void expect_same(const Curve& several, const Curve& one, double tolerance) {
  ASSERT_EQ(several.losses.size(), one.losses.size());
  for (std::size_t i = 0; i < one.losses.size(); ++i) {
    EXPECT_NEAR(several.losses[i], one.losses[i], tolerance * one.losses[i]) << "step " << i + 1;
  }
  EXPECT_NEAR(several.val_loss, one.val_loss, tolerance * one.val_loss);
}

TEST(BatchNormOnRanks, SynchronisedItEqualsOneRankWithAllImages) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  const Curve one = train_on(1, small_job(), folder / "1");
  ASSERT_EQ(one.losses.size(), 10u);
  EXPECT_GT(std::abs(one.losses.back() - one.losses.front()), 0.01) << "the weights move";
  for (const int ranks : {2, 3, 4}) {
    SCOPED_TRACE(ranks);
    expect_same(train_on(ranks, small_job(), folder / std::to_string(ranks)), one, 1e-9);
  }
  Json apart = small_job();
  apart.erase("sync_batch_norm");
  const Curve other = train_on(4, apart, folder / "apart");
  EXPECT_GT(std::abs(other.losses[3] - one.losses[3]), 1e-4 * one.losses[3]);
}

/// Gradients are reduced meanwhile, in many buckets, in every supported way.
TEST(BatchNormOnRanks, WorksWithEveryReductionOfGradients) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  const Curve one = train_on(1, small_job(), folder / "1");
  for (const char* allreduce : {"mpi", "ring", "parameter-server"}) {
    SCOPED_TRACE(allreduce);
    Json job = small_job();
    job["runtime"]["allreduce"] = allreduce;
    expect_same(train_on(3, job, folder / allreduce), one, 1e-9);
  }
  Json job = small_job();
  job["optimizer"]["shard"] = true;
  expect_same(train_on(3, job, folder / "shard"), one, 1e-9);
  job = small_job();
  job["runtime"]["gradient_lag"] = 1;
  const Curve late = train_on(1, job, folder / "late");
  expect_same(train_on(2, job, folder / "late-2"), late, 1e-9);
}

TEST(BatchNormOnRanks, SynchronisedOnOneDnnToo) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const auto works = [](const BackendEntry& entry) { return entry.name == "onednn"; };
  if (std::ranges::none_of(backends(), works)) GTEST_SKIP() << "built without oneDNN";
  const ScratchFolder folder;
  Json job = small_job();
  job["backend"] = "onednn";
  job["precision"] = "fp32";
  const Curve one = train_on(1, job, folder / "1");
  for (const int ranks : {2, 3}) {
    SCOPED_TRACE(ranks);
    expect_same(train_on(ranks, job, folder / std::to_string(ranks)), one, 1e-4);
  }
}

/// 115 images, 12 per step. In the last step, with 7 images, one rank has batches of 2 and 1, the
/// others only the first. They must take part in the second all the same.
TEST(BatchNormOnRanks, EveryRankHasEquallyManyMicroBatchesInTheLastStep) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  Json job = small_job();
  job["dataset"]["images"] = 115;
  job["batch_size"] = 2;
  job["accumulate"] = 2;
  job["runtime"]["stall_seconds"] = 5;
  job["runtime"]["stall_abort_seconds"] = 20;
  write_text(folder / "train.json", job.dump());
  const auto ended =
      run_program(on_ranks(3, {bin + "/dltrain", "--config", (folder / "train.json").string()}));
  ASSERT_EQ(ended.exit_code, 0) << ended.output;
  const auto epochs = events_of(folder / ".", "epoch");
  ASSERT_EQ(epochs.size(), 2u);
  EXPECT_EQ(epochs.back()["step"], 20);
  EXPECT_LT(epochs.back()["loss"], epochs.front()["loss"]);
}

/// A rank that cannot read its images takes part with none until all ranks know.
TEST(BatchNormOnRanks, ABadImageOnOneRankStopsAll) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  std::string records = cifar_records(0, 62);
  records[40 * (cifar_pixels + 1)] = 77;
  write_text(folder / "data/data_batch_1.bin", records);
  write_text(folder / "data/test_batch.bin", cifar_records(3, 11));
  Json job = small_job();
  job["dataset"] = {{"kind", "cifar10"}, {"path", (folder / "data").string()}};
  job["batch_size"] = 4;
  job["runtime"]["stall_seconds"] = 5;
  job["runtime"]["stall_abort_seconds"] = 20;
  write_text(folder / "train.json", job.dump());
  const auto ended =
      run_program(on_ranks(3, {bin + "/dltrain", "--config", (folder / "train.json").string()}));
  EXPECT_EQ(ended.exit_code, 2) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("data_batch_1.bin"));
  // The start may take longer than that on a busy machine; no collective does.
  EXPECT_THAT(ended.output, Not(testing::ContainsRegex("stall: [a-z_]+ #")));
}

/// A bad image spoils all ranks through the statistics; the rank that read it is named. It is
/// damaged after the first checkpoint: earlier, it would change the measured deviation of the
/// pixels.
TEST(BatchNormOnRanks, NamesTheSourceOfANonFiniteLoss) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  constexpr std::size_t images = 60;
  constexpr std::size_t pixels = 36;
  std::vector<float> values(images * pixels);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1e-3F * static_cast<float>(i % 7);
  std::vector<std::uint8_t> labels(images);
  for (std::size_t i = 0; i < images; ++i) labels[i] = static_cast<std::uint8_t>(i % 10);
  for (const std::string part : {"train", "val"}) {
    write_text(folder / "data" / (part + "_images.npy"),
               npy_bytes(npy_header_text("<f4", "(60, 6, 6, 1)"), raw_bytes(values)));
    write_text(folder / "data" / (part + "_labels.npy"),
               npy_bytes(npy_header_text("|u1", "(60,)"), raw_bytes(labels)));
  }
  Json job = small_job();
  job["backend"] = "auto";
  job["precision"] = "fp32";
  job["epochs"] = 100'000;
  job["batch_size"] = 4;
  job["dataset"] = {{"kind", "npy"}, {"path", (folder / "data").string()}};
  write_text(folder / "train.json", job.dump());
  RunningProgram program(
      on_ranks(3, {bin + "/dltrain", "--config", (folder / "train.json").string()}));
  for (int i = 0; i < 9000 && !std::filesystem::exists(folder / "checkpoints"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const std::string huge = raw_bytes(std::vector<float>(pixels, 3e38F));
  std::fstream file(folder / "data/train_images.npy",
                    std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(-static_cast<std::streamoff>(huge.size()), std::ios::end);
  file << huge << std::flush;
  const auto ended = program.wait();
  EXPECT_EQ(ended.exit_code, 1) << ended.output;
  EXPECT_THAT(ended.output, testing::ContainsRegex("the loss is .* on rank [0-2] at step [0-9]+ "
                                                   ".*: the images already contain such numbers"));
}

/// Wherever it is killed, most likely in a normalisation, the others end by the deadline of any
/// other collective.
TEST(BatchNormOnRanks, AKilledRankDoesNotBlockTheOthers) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  Json job = small_job();
  job["epochs"] = 1'000'000;
  job["batch_size"] = 8;
  job["runtime"]["stall_seconds"] = 1;
  job["runtime"]["stall_abort_seconds"] = 15;  // the start has to fit too
  const std::string config = (folder / "train.json").string();
  write_text(config, job.dump());
  RunningProgram program(on_ranks(3, {bin + "/dltrain", "--config", config}));
  for (int i = 0; i < 9000 && !std::filesystem::exists(folder / "checkpoints"); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const pid_t held = process_of_rank(config, "1");
  ASSERT_GT(held, 0);
  kill(held, SIGSTOP);
  const auto ended = program.wait();
  EXPECT_NE(ended.exit_code, 0);
  EXPECT_THAT(ended.output, HasSubstr("rank 1"));
  EXPECT_THAT(ended.output, HasSubstr("all_reduce"));
}

TEST(BatchNormOnRanks, AModelWithoutItIsABadRequest) {
  const ScratchFolder folder;
  Json job = small_job();
  job["model"] = "lenet";
  job["dataset"].erase("image_size");
  write_text(folder / "train.json", job.dump());
  const auto ended = run_program({bin + "/dltrain", "--config", (folder / "train.json").string()});
  EXPECT_EQ(ended.exit_code, 2) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("sync_batch_norm: model lenet has no batch normalisation\n  "
                                      "try: remove sync_batch_norm"));
}

}  // namespace
}  // namespace dllaunch

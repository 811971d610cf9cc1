// The treatment of images must not depend on the number of ranks: real ranks under mpirun.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "support/json.hpp"
#include "tests/trainer/data/codecs/jpeg_bytes.hpp"
#include "tests/trainer/data/datasets/cifar_bytes.hpp"
#include "tests/trainer/data/datasets/token_bytes.hpp"
#include "tests/trainer/training/run_program.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string bin = DLLAUNCH_BIN_DIR;

struct Curve {
  std::vector<double> losses;
  Json epoch;
  std::string output;
};

Curve train_on(int ranks, Json job, const std::filesystem::path& run_dir) {
  job["batch_size"] = 12 / ranks;
  write_text(run_dir / "train.json", job.dump());
  const std::vector<std::string> command{bin + "/every_loss", (run_dir / "train.json").string(),
                                         (run_dir / "losses").string()};
  auto ended = run_program(ranks == 1 ? command : on_ranks(ranks, command));
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  Curve curve;
  std::ifstream in(run_dir / "losses");
  for (double loss = 0; in >> loss;) curve.losses.push_back(loss);
  curve.epoch = events_of(run_dir, "epoch").at(0);
  curve.output = ended.output;
  return curve;
}

/// 62 images, four with a label out of range; resized, cropped and mirrored.
TEST(DataOnRanks, BadImagesCropsAndFlipsAreTheSameOnAnyNumberOfRanks) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  std::string records = cifar_records(0, 62);
  for (const std::size_t bad : {3, 4, 40, 61}) records[bad * (cifar_pixels + 1)] = 77;
  write_text(folder / "data/data_batch_1.bin", records);
  std::string test = cifar_records(3, 11);
  test[0] = 10;
  write_text(folder / "data/test_batch.bin", test);
  Json job = Json::parse(R"({
    "model": "lenet", "backend": "reference", "precision": "fp64", "epochs": 2,
    "dataset": {"kind": "cifar10", "on_bad": "skip", "image_size": 28, "crop": 3, "flip": true,
                "workers": 1},
    "optimizer": {"lr": 0.02, "momentum": 0.9}})");
  job["dataset"]["path"] = (folder / "data").string();
  const Curve one = train_on(1, job, folder / "1");
  ASSERT_EQ(one.losses.size(), 12u);
  EXPECT_EQ(one.epoch["skipped"], 5);
  for (const int ranks : {2, 3, 4}) {
    job["dataset"]["workers"] = ranks - 2;
    const Curve several = train_on(ranks, job, folder / std::to_string(ranks));
    ASSERT_EQ(several.losses.size(), one.losses.size());
    for (std::size_t i = 0; i < one.losses.size(); ++i) {
      EXPECT_NEAR(several.losses[i], one.losses[i], 1e-9 * one.losses[i]) << ranks << ", " << i;
    }
    EXPECT_EQ(several.epoch["skipped"], 5);
    EXPECT_NEAR(several.epoch["val_loss"].get<double>(), one.epoch["val_loss"].get<double>(), 1e-9);
  }
}

/// Two shards with a bad token; clipped gradients and an averaged network, whole and sharded.
TEST(DataOnRanks, TokensAreTheSameOnAnyNumberOfRanks) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  write_text(folder / "data/x_train_1.bin", token_ids(400, 1, 7, 40));
  std::string bad = token_ids(300, 2, 11, 40);
  bad[100] = 77;
  write_text(folder / "data/x_train_2.bin", with_token_header(bad));
  write_text(folder / "data/x_val_0.bin", token_ids(150, 3, 7, 40));
  Json job = Json::parse(R"({
    "model": "gpt2-tiny", "backend": "reference", "precision": "fp64", "epochs": 2,
    "dataset": {"kind": "tokens", "sequence": 16, "classes": 40, "on_bad": "skip", "workers": 1},
    "optimizer": {"name": "adamw", "lr": 0.003, "eps": 1e-4, "clip_norm": 0.5,
                  "decay_vectors": false, "weight_decay": 0.1},
    "ema": {"decay": 0.75, "validate": true}})");
  job["dataset"]["path"] = (folder / "data").string();
  const Curve one = train_on(1, job, folder / "1");
  ASSERT_EQ(one.losses.size(), 8u);
  EXPECT_EQ(one.epoch["skipped"], 1);
  for (const int ranks : {2, 3}) {
    job["optimizer"]["shard"] = ranks == 3;
    const Curve several = train_on(ranks, job, folder / std::to_string(ranks));
    ASSERT_EQ(several.losses.size(), one.losses.size());
    for (std::size_t i = 0; i < one.losses.size(); ++i) {
      EXPECT_NEAR(several.losses[i], one.losses[i], 1e-9 * one.losses[i]) << ranks << ", " << i;
    }
    for (const char* number : {"accuracy", "val_accuracy", "val_loss", "val_perplexity"}) {
      EXPECT_NEAR(several.epoch[number].get<double>(), one.epoch[number].get<double>(), 1e-8)
          << number;
    }
  }
  job["dataset"]["on_bad"] = "stop";
  write_text(folder / "bad/train.json", job.dump());
  const auto refused = run_program(on_ranks(
      2, {bin + "/every_loss", (folder / "bad/train.json").string(), (folder / "l").string()}));
  EXPECT_THAT(refused.output, HasSubstr("x_train_2.bin: token 77 at offset 1124 is not below"));
}

/// Writes two classes of 28x28 images to `folder`; `level` is their brightness.
void write_two_classes(const std::filesystem::path& folder, const std::string& first = "a",
                       const std::string& second = "b", int level = 8) {
  for (int i = 0; i < 30; ++i) {
    const std::string name = (i < 24 ? "train/" : "val/") + (i % 2 == 0 ? first : second);
    write_text(folder / name / (std::to_string(i) + ".jpg"),
               plain_jpeg(28, 28, {static_cast<std::uint8_t>(level * i)}));
  }
}

TEST(DataOnRanks, ReportsDifferentDataBetweenRanks) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  write_two_classes(folder / "data");
  write_two_classes(folder / "fewer");
  std::filesystem::remove(folder / "fewer/train/b/23.jpg");
  write_two_classes(folder / "names");
  std::filesystem::rename(folder / "names/train/b/23.jpg", folder / "names/train/a/23.jpg");
  write_two_classes(folder / "classes", "a", "c");
  write_two_classes(folder / "darker", "a", "b", 7);
  const auto config_of = [&](const std::string& data) {
    Json job = Json::parse(R"({"model": "lenet", "batch_size": 4, "epochs": 2,
                               "dataset": {"kind": "image-folder", "channels": 1}})");
    job["dataset"]["path"] = (folder / data).string();
    write_text(folder / data / "train.json", job.dump());
    return (folder / data / "train.json").string();
  };
  const std::vector<std::pair<std::string, std::string>> cases{
      {"fewer", "data differs: training: rank 1 has 23 images, rank 0 has 24 images"},
      {"names", "data differs: training-labels: rank 1 has sum "},
      {"classes", "data differs: class-1: rank 1 has c, rank 0 has b"},
      {"darker", "data differs: pixels: rank 1 has mean 0."}};
  for (const auto& [data, message] : cases) {
    const auto command =
        on_two_ranks({bin + "/dltrain", "--config"}, config_of("data"), config_of(data));
    const auto ended = run_program(command);
    EXPECT_EQ(ended.exit_code, 2) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr(message));
    EXPECT_THAT(ended.output, HasSubstr("dataset.path must hold the same files on every node"));
  }
}

/// Damaged after the first checkpoint: earlier damage would stop each rank independently, while it
/// measures the pixels.
TEST(DataOnRanks, ABadImageOnOneRankStopsAll) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  for (const std::string bad : {"train/b/23.jpg", "val/a/28.jpg"}) {
    write_two_classes(folder / "data");
    Json job = Json::parse(R"({"model": "lenet", "batch_size": 4, "epochs": 100000,
                               "checkpoint": {"every_epochs": 1},
                               "dataset": {"kind": "image-folder", "channels": 1}})");
    job["dataset"]["path"] = (folder / "data").string();
    const auto run_dir = folder / ("run-" + bad.substr(0, 3));
    write_text(run_dir / "train.json", job.dump());
    RunningProgram program(
        on_ranks(3, {bin + "/dltrain", "--config", (run_dir / "train.json").string()}));
    for (int i = 0; i < 9000 && !std::filesystem::exists(run_dir / "checkpoints"); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    write_text(folder / "damaged", "no picture");
    std::filesystem::rename(folder / "damaged", folder / "data" / bad);
    const auto ended = program.wait();
    EXPECT_EQ(ended.exit_code, 2) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr("dltrain: error: "));
    EXPECT_THAT(ended.output, HasSubstr("dataset.on_bad: skip"));
    EXPECT_THAT(ended.output, HasSubstr(bad + ": is not a JPEG"));
    EXPECT_THAT(ended.output, Not(HasSubstr("stall")));
    EXPECT_THAT(read_text(run_dir / "events.jsonl"), HasSubstr(R"("status":"failed")"));
  }
}

}  // namespace
}  // namespace dllaunch

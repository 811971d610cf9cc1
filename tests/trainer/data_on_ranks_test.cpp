// What becomes of images must not depend on the number of ranks: real ranks under mpirun.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/trainer/cifar_bytes.hpp"
#include "tests/trainer/jpeg_bytes.hpp"
#include "tests/trainer/run_program.hpp"
#include "tests/trainer/small_training.hpp"

namespace dllaunch {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

const std::string bin = DLLAUNCH_BIN_DIR;

bool have_mpirun() {
  return run_program({"mpirun", "--version"}).exit_code == 0;
}

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

/// 62 images, four of which have a label out of range; resized, moved and mirrored.
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

TEST(DataOnRanks, ABadImageThatOneRankMeetsStopsAll) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  for (int i = 0; i < 30; ++i) {
    const std::string split = i < 24 ? "train/" : "val/";
    write_text(folder / ("data/" + split + (i % 2 == 0 ? "a/" : "b/") + std::to_string(i) + ".jpg"),
               i == 23 ? "no picture" : plain_jpeg(28, 28, {static_cast<std::uint8_t>(8 * i)}));
  }
  Json job = Json::parse(R"({"model": "lenet", "batch_size": 4, "epochs": 2,
                             "dataset": {"kind": "image-folder", "channels": 1}})");
  job["dataset"]["path"] = (folder / "data").string();
  write_text(folder / "run/train.json", job.dump());
  const auto ended = run_program(
      on_ranks(3, {bin + "/dltrain", "--config", (folder / "run/train.json").string()}));
  EXPECT_NE(ended.exit_code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("train/b/23.jpg: is no JPEG"));
}

}  // namespace
}  // namespace dllaunch

// Whole trainings on real ranks under mpirun, and what they must have in common.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "support/json.hpp"
#include "tests/trainer/training/run_program.hpp"
#include "tests/trainer/training/small_training.hpp"
#include "trainer/tensors/safetensors.hpp"
#include "trainer/tensors/tensor_values.hpp"

namespace dllaunch {

struct Curve {
  std::vector<double> losses;
  Json last_epoch;
  std::map<std::string, Tensor> tensors;  // of the last checkpoint
};

inline std::string newest_checkpoint(const std::filesystem::path& run_dir) {
  std::string newest;
  for (const auto& entry : std::filesystem::directory_iterator(run_dir / "checkpoints")) {
    newest = std::max(newest, entry.path().string());
  }
  return newest;
}

/// Trains this job; without tensors.
inline Curve losses_on(int ranks, const Json& job, const std::filesystem::path& run_dir) {
  write_text(run_dir / "train.json", job.dump());
  const std::vector<std::string> command{std::string(DLLAUNCH_BIN_DIR) + "/every_loss",
                                         (run_dir / "train.json").string(),
                                         (run_dir / "losses").string()};
  const auto ended = run_program(ranks == 1 ? command : on_ranks(ranks, command));
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  Curve curve;
  std::ifstream in(run_dir / "losses");
  for (double loss = 0; in >> loss;) curve.losses.push_back(loss);
  curve.last_epoch = events_of(run_dir, "epoch").back();
  return curve;
}

inline Curve train_on(int ranks, const Json& job, const std::filesystem::path& run_dir) {
  Curve curve = losses_on(ranks, job, run_dir);
  const std::filesystem::path newest = newest_checkpoint(run_dir);
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    auto read = read_safetensors(newest / file);
    EXPECT_TRUE(read) << read.error().what;
    for (Tensor& tensor : read->tensors) curve.tensors[tensor.name] = std::move(tensor);
  }
  return curve;
}

inline void expect_same(const Curve& curve, const Curve& expected, double tolerance) {
  ASSERT_EQ(curve.losses.size(), expected.losses.size());
  for (std::size_t i = 0; i < expected.losses.size(); ++i) {
    EXPECT_NEAR(curve.losses[i], expected.losses[i], tolerance * expected.losses[i])
        << "step " << i + 1;
  }
  EXPECT_NEAR(curve.last_epoch["val_loss"], expected.last_epoch["val_loss"], tolerance);
  EXPECT_EQ(curve.last_epoch["val_accuracy"], expected.last_epoch["val_accuracy"]);
  ASSERT_EQ(curve.tensors.size(), expected.tensors.size());
  for (const auto& [name, tensor] : expected.tensors) {
    ASSERT_TRUE(curve.tensors.contains(name)) << name;
    const Tensor& other = curve.tensors.at(name);
    ASSERT_EQ(other.shape, tensor.shape) << name;
    const auto a = values_of(tensor);
    const auto b = values_of(other);
    double largest = 0;
    double difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      largest = std::max(largest, std::abs(a[i]));
      difference = std::max(difference, std::abs(a[i] - b[i]));
    }
    EXPECT_LE(difference, tolerance * (1e-3 + largest)) << name;
  }
}

}  // namespace dllaunch

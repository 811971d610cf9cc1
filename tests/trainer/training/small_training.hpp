// Trainings that take a fraction of a second, and their files.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/opening/communicators.hpp"
#include "support/json.hpp"
#include "tests/trainer/scratch_folder.hpp"
#include "trainer/training/train.hpp"

namespace dllaunch {

/// lenet on 100 synthetic images in steps of 16: 7 steps per epoch, the last with 4 images.
inline TrainConfig small_config(const std::string& backend) {
  TrainConfig config;
  config.model = "lenet";
  config.backend = backend;
  config.dataset = "synthetic";
  config.data.images = 100;
  config.workers = 1;
  config.batch_size = 16;
  config.epochs = 2;
  config.optimizer = "sgd";
  config.optimizer_options = {.lr = 0.02, .momentum = 0.9, .weight_decay = 1e-4};
  return config;
}

struct Trained {
  TrainReport report;
  std::vector<double> losses;     // one per step
  std::vector<std::string> said;  // progress and warnings
};

/// Trains on one rank. Stops after `stop_after` steps of this call; 0: never. Calls `between` after
/// every step.
inline Result<Trained> train_alone(
    const TrainConfig& config, const std::filesystem::path& run_dir, std::size_t stop_after = 0,
    const std::function<void()>& between = [] {}) {
  auto communicator = open_communicator("solo", RankEnv{});
  if (!communicator) return std::move(communicator).error();
  std::filesystem::create_directories(run_dir);
  Trained trained;
  const auto keep = [&](std::string_view line) { trained.said.emplace_back(line); };
  TrainOptions options;
  // One thread: spinning threads are slow beside other tests.
  options.prepare = {.config = config, .run_dir = run_dir, .threads = 1, .warn = keep};
  options.say = keep;
  options.on_step = [&](const StepReport& step) {
    trained.losses.push_back(step.loss);
    between();
  };
  // Called at the start of a step, after the losses of earlier ones were reported.
  options.stop_requested = [&] {
    return stop_after != 0 && trained.losses.size() + 1 == stop_after;
  };
  auto report = train(options, **communicator);
  if (!report) return std::move(report).error();
  trained.report = *std::move(report);
  return trained;
}

/// Without a line that is being written.
inline std::vector<Json> events_of(const std::filesystem::path& run_dir, const std::string& kind) {
  std::vector<Json> found;
  std::istringstream text(read_text(run_dir / "events.jsonl"));
  for (std::string line; std::getline(text, line) && !text.eof();) {
    auto event = Json::parse(line);
    if (event["event"] == kind) found.push_back(std::move(event));
  }
  return found;
}

/// Returns the bytes of a step's tensor files, for bit-exact comparison.
inline std::string weights_at(const std::filesystem::path& run_dir, const std::string& step) {
  const auto directory = run_dir / "checkpoints" / step;
  EXPECT_TRUE(std::filesystem::exists(directory / "model.safetensors")) << directory;
  return read_text(directory / "model.safetensors") +
         read_text(directory / "optimizer.safetensors");
}

}  // namespace dllaunch

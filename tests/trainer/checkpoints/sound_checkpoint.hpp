// A small checkpoint for tests of writing and reading.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trainer/checkpoints/checkpoint.hpp"

namespace dllaunch {

inline Checkpoint sound_checkpoint(std::int64_t step) {
  const std::vector<float> values{1, 2, 3, static_cast<float>(step)};
  const auto bytes = std::as_bytes(std::span(values));
  const std::vector<std::byte> data(bytes.begin(), bytes.end());
  Checkpoint checkpoint;
  checkpoint.position = {
      .epoch = 2, .step = step, .images = 96, .loss_sum = 0.1 + 0.2, .correct = 17, .lr = 0.7 / 3};
  checkpoint.model = "lenet";
  checkpoint.optimizer = "sgd";
  checkpoint.seed = 5;
  checkpoint.ranks = 2;
  checkpoint.global_batch = 64;
  checkpoint.class_names = {"cat", "\"state.json\": \"dog"};
  checkpoint.normalization = {.mean = {0.1}, .std = {1.0 / 3}};
  checkpoint.weights.tensors = {{.name = "w", .type = DType::f32, .shape = {4}, .data = data}};
  checkpoint.states.tensors = {
      {.name = "w.momentum_buffer", .type = DType::f32, .shape = {2, 2}, .data = data}};
  return checkpoint;
}

}  // namespace dllaunch

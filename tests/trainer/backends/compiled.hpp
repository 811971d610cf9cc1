// Common to backend tests: a compiled graph with its own arenas, accessed as plain doubles.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "trainer/backends/backend.hpp"
#include "trainer/backends/table/backends.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {

/// One plain tensor per parameter of the graph.
using Tensors = std::vector<std::vector<double>>;

inline const BackendEntry& backend_named(std::string_view name) {
  for (const BackendEntry& entry : backends()) {
    if (entry.name == name) return entry;
  }
  ADD_FAILURE() << "no backend " << name;
  std::abort();
}

/// Compiles the graph; aborts the test program if that fails.
class Compiled {
 public:
  Compiled(const BackendEntry& entry, const Graph& graph, const CompileOptions& options)
      : graph_(graph) {
    auto backend = entry.open();
    auto executable = (*backend)->compile(graph, options);
    if (!executable) {
      ADD_FAILURE() << executable.error().what;
      std::abort();
    }
    executable_ = *std::move(executable);
    std::vector<void*> weights;
    std::vector<void*> gradients;
    for (const ParameterSlot& slot : executable_->slots()) {
      const std::size_t bytes = slot.elements * bytes_of(executable_->dtype());
      weights_.push_back(aligned(bytes));
      gradients_.push_back(aligned(bytes));
      weights.push_back(weights_.back().get());
      gradients.push_back(gradients_.back().get());
    }
    executable_->attach(weights, gradients);
  }

  Executable& operator*() { return *executable_; }
  Executable* operator->() { return executable_.get(); }

  void set_weights(const Tensors& values) {
    for (int slot = 0; slot < slot_count(); ++slot) {
      const auto& plain = values[parameter_of(slot)];
      if (executable_->dtype() == DType::f64) {
        executable_->from_plain(slot, plain.data(), weight(slot));
      } else {
        const std::vector<float> rounded(plain.begin(), plain.end());
        executable_->from_plain(slot, rounded.data(), weight(slot));
      }
    }
  }

  Tensors gradients() const {
    Tensors result(graph_.parameters.size());
    for (int slot = 0; slot < slot_count(); ++slot) {
      result[parameter_of(slot)] = plain(slot, gradient(slot));
    }
    return result;
  }

  /// Returns a slot's values in plain layout.
  std::vector<double> plain(int slot, const void* arena) const {
    const auto size =
        static_cast<std::size_t>(elements_of(graph_.parameters[parameter_of(slot)].shape));
    std::vector<double> doubles(size);
    if (executable_->dtype() == DType::f64) {
      executable_->to_plain(slot, arena, doubles.data());
    } else {
      std::vector<float> floats(size);
      executable_->to_plain(slot, arena, floats.data());
      doubles.assign(floats.begin(), floats.end());
    }
    return doubles;
  }

  int slot_count() const { return static_cast<int>(executable_->slots().size()); }
  void* weight(int slot) const { return weights_[static_cast<std::size_t>(slot)].get(); }
  void* gradient(int slot) const { return gradients_[static_cast<std::size_t>(slot)].get(); }
  std::size_t parameter_of(int slot) const {
    return static_cast<std::size_t>(executable_->slots()[static_cast<std::size_t>(slot)].parameter);
  }

 private:
  using Memory = std::unique_ptr<void, void (*)(void*)>;

  /// Filled with NaN, so that reads of unwritten memory show.
  static Memory aligned(std::size_t bytes) {
    const std::size_t rounded = (bytes + 63) / 64 * 64;
    Memory memory(std::aligned_alloc(64, rounded), &std::free);
    std::memset(memory.get(), 0xFF, rounded);
    return memory;
  }

  Graph graph_;
  std::unique_ptr<Executable> executable_;
  std::vector<Memory> weights_;
  std::vector<Memory> gradients_;
};

/// Returns Glorot-like random values, including biases; the same for the same graph.
inline Tensors random_weights(const Graph& graph) {
  std::mt19937 random(7);
  Tensors tensors;
  for (const Parameter& parameter : graph.parameters) {
    const double fans = static_cast<double>(parameter.fan_in + parameter.fan_out);
    const bool weight = parameter.shape.size() > 1;
    const double limit = weight ? std::sqrt(6.0 / fans) : 0.2;
    const float middle = parameter.initial == Initial::ones ? 1 : 0;
    std::uniform_real_distribution<float> uniform(-1, 1);
    tensors.emplace_back(static_cast<std::size_t>(elements_of(parameter.shape)));
    // Rounded to float, so that every precision starts from the same point.
    for (double& value : tensors.back()) {
      value = middle + static_cast<float>(limit) * uniform(random);
    }
  }
  return tensors;
}

/// Returns the number of different tokens that the graph reads; 0: it reads images.
inline std::int64_t vocabulary_of(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (const auto* words = std::get_if<Embedding>(&node.op)) return words->vocabulary;
  }
  return 0;
}

/// Random images, or sequences of tokens, and labels that own their memory.
struct Images {
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;
  int count;

  Images(const Graph& graph, int batch, unsigned seed = 3) : count(batch) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    const auto rows = static_cast<std::size_t>(batch);
    pixels.resize(rows * static_cast<std::size_t>(elements_of(graph.input_shape())));
    labels.resize(rows * static_cast<std::size_t>(graph.labels()));
    const auto vocabulary = static_cast<unsigned>(vocabulary_of(graph));
    for (float& pixel : pixels) {
      pixel = vocabulary == 0 ? normal(random) : static_cast<float>(random() % vocabulary);
    }
    for (std::int32_t& label : labels) {
      label = static_cast<std::int32_t>(random() % static_cast<unsigned>(graph.classes()));
    }
  }

  Batch batch(int some) const { return {.images = pixels, .labels = labels, .count = some}; }
  Batch batch() const { return batch(count); }
};

/// Returns ||a - b|| / ||b||, or ||a|| if b is zero.
inline double relative_error(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  return size > 0 ? std::sqrt(difference / size) : std::sqrt(difference);
}

inline void expect_close(const Graph& graph, const Tensors& actual, const Tensors& expected,
                         double tolerance) {
  for (std::size_t p = 0; p < expected.size(); ++p) {
    EXPECT_LT(relative_error(actual[p], expected[p]), tolerance) << graph.parameters[p].name;
  }
}

/// Returns the model's graph for Fashion-MNIST's images, or for the smallest of ours that it
/// supports, or for a sequence of tokens.
inline Graph graph_of(const ModelEntry& model) {
  auto graph = model.build({.channels = 1, .height = 28, .width = 28}, 10);
  if (!graph) graph = model.build({.channels = 3, .height = 72, .width = 72}, 10);
  if (!graph) graph = model.build({.channels = 20, .height = 9, .width = 9}, 10);
  if (!graph) graph = model.build({.channels = 3, .height = 32, .width = 32}, 10);
  if (!graph) graph = model.build({.channels = 1, .height = 1, .width = 24}, 10);  // tokens
  EXPECT_TRUE(graph) << model.name;
  return *std::move(graph);
}

inline Graph graph_of(std::string_view model) {
  return graph_of(*find_model(model));
}

inline bool has_dropout(const Graph& graph) {
  return std::ranges::any_of(
      graph.nodes, [](const Node& node) { return std::holds_alternative<Dropout>(node.op); });
}

/// Returns the models that even `reference` runs quickly.
inline std::vector<ModelEntry> small_models() {
  std::vector<ModelEntry> small;
  for (const ModelEntry& model : models()) {
    const bool small_images{model.build({.channels = 1, .height = 28, .width = 28}, 10)};
    if (!small_images && vocabulary_of(graph_of(model)) == 0) continue;
    if (graph_of(model).parameter_count() < 2'000'000) small.push_back(model);
  }
  return small;
}

}  // namespace dllaunch

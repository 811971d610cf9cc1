// A network's parameters on one of several ranks, with gradients of the test's own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "trainer/backends/table/backends.hpp"
#include "trainer/graph/frozen_parameters.hpp"
#include "trainer/models/models.hpp"
#include "trainer/parameters/parameter_arenas.hpp"

namespace dllaunch {

inline const OptimizerOptions options{.lr = 0.1, .momentum = 0.9, .weight_decay = 0.01};

/// lenet's parameters on one of several ranks, initialised from the seed.
struct Model {
  Model(Communicator& communicator, bool shard, const OptimizerOptions& how = options,
        const OptimizerEntry& optimizer = *find_optimizer("sgd"),
        const std::vector<std::string>& freeze = {})
      : Model(communicator, ArenaOptions{.shard = shard}, how, optimizer, freeze) {}
  Model(Communicator& communicator, const ArenaOptions& placed, const OptimizerOptions& how,
        const OptimizerEntry& optimizer, const std::vector<std::string>& freeze = {})
      : graph(*find_model("lenet")->build({.channels = 1, .height = 28, .width = 28}, 10)),
        backend(*backends().back().open()),
        executable(*backend->compile(graph, {.batch = 1, .threads = 1})),
        arenas(*executable, communicator, optimizer, how, placed) {
    EXPECT_TRUE(freeze_parameters(graph, freeze));
    arenas.freeze(graph);
    arenas.deal(arenas.plan(1e9));
    if (communicator.rank() == 0) arenas.initialise(graph, 7);
    arenas.broadcast();
    arenas.begin_average();
  }

  /// Fills the same gradients on every rank, as after a reduction.
  void fill_gradients(int step) {
    std::mt19937 random(static_cast<unsigned>(step));
    const ArenaLayout& layout = arenas.layout();
    for (std::size_t slot = 0; slot < layout.offset.size(); ++slot) {
      auto* g = static_cast<float*>(layout.at(arenas.gradients(), static_cast<int>(slot)));
      for (std::size_t i = 0; i < layout.elements[slot]; ++i) {
        g[i] = static_cast<float>(random() % 2001) * 1e-3F - 1;
      }
    }
  }

  Graph graph;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Executable> executable;
  ParameterArenas arenas;
};

inline void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].name, expected[i].name);
    EXPECT_EQ(got[i].data, expected[i].data) << got[i].name;
  }
}

inline void expect_near(const std::vector<Tensor>& got, const std::vector<Tensor>& expected,
                        float relative) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t t = 0; t < got.size(); ++t) {
    ASSERT_EQ(got[t].data.size(), expected[t].data.size());
    for (std::size_t at = 0; at < got[t].data.size(); at += sizeof(float)) {
      float a = 0;
      float b = 0;
      std::memcpy(&a, got[t].data.data() + at, sizeof a);
      std::memcpy(&b, expected[t].data.data() + at, sizeof b);
      ASSERT_NEAR(a, b, relative * std::max(1.0F, std::abs(b))) << got[t].name;
    }
  }
}

/// Returns a tensor's elements, which are floats.
inline std::vector<float> floats_of(const Tensor& tensor) {
  std::vector<float> values(tensor.data.size() / sizeof(float));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

}  // namespace dllaunch

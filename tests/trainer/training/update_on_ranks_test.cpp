// Sharded optimisers and late gradients on 1, 2, 3, 4 and 7 ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "runtime/gradients/gradient_reducer.hpp"
#include "tests/runtime/communicators/on_ranks.hpp"
#include "tests/trainer/parameters/model_on_ranks.hpp"
#include "trainer/backends/table/backends.hpp"
#include "trainer/graph/frozen_parameters.hpp"
#include "trainer/graph/name_patterns.hpp"
#include "trainer/models/models.hpp"
#include "trainer/parameters/parameter_arenas.hpp"

namespace dllaunch {
namespace {

TEST(Shard, UpdatesBitForBitLikeTheWhole) {
  const auto communicator = all_ranks();
  for (const double bucket_bytes : {1e9, 40000.0, 1000.0}) {
    Model whole(*communicator, false);
    Model parts(*communicator, true);
    parts.arenas.deal(parts.arenas.plan(bucket_bytes));
    for (int step = 0; step < 4; ++step) {
      for (Model* model : {&whole, &parts}) {
        model->fill_gradients(step);
        model->arenas.update({.lr = 0.1 / (step + 1)});
      }
      expect_same(parts.arenas.weights(), whole.arenas.weights());
    }
    parts.arenas.gather_states();
    if (communicator->rank() == 0) expect_same(parts.arenas.states(), whole.arenas.states());
  }
}

/// Returns options that use every part of an optimiser.
OptimizerOptions lively(const OptimizerEntry& entry) {
  OptimizerOptions lively = entry.defaults;
  lively.weight_decay = 0.01;
  lively.momentum = 0.9;
  lively.centered = true;
  return lively;
}

/// The arithmetic is the same for each element, so the bits are too. Only norms are sums of pieces
/// in another order: they differ by about 1e-16 and may round to another float.
TEST(Shard, EveryOptimizerUpdatesLikeTheWhole) {
  const auto communicator = all_ranks();
  for (const auto& entry : optimizers()) {
    SCOPED_TRACE(entry.name);
    for (const double bucket_bytes : {1e9, 3000.0}) {
      Model whole(*communicator, false, lively(entry), entry);
      Model parts(*communicator, true, lively(entry), entry);
      parts.arenas.deal(parts.arenas.plan(bucket_bytes));
      for (int step = 0; step < 4; ++step) {
        for (Model* model : {&whole, &parts}) {
          model->fill_gradients(step);
          model->arenas.update({.lr = 0.1 / (step + 1), .step = step + 1, .epoch = 9.0 + step});
        }
      }
      parts.arenas.gather_states();
      const bool root = communicator->rank() == 0;
      if (entry.measure == nullptr) {
        expect_same(parts.arenas.weights(), whole.arenas.weights());
        if (root) expect_same(parts.arenas.states(), whole.arenas.states());
      } else {
        expect_near(parts.arenas.weights(), whole.arenas.weights(), 1e-6F);
        if (root) expect_near(parts.arenas.states(), whole.arenas.states(), 1e-6F);
      }
    }
  }
}

TEST(Shard, EveryOptimizersStateRoundTripsThroughTensors) {
  const auto communicator = all_ranks();
  for (const auto& entry : optimizers()) {
    SCOPED_TRACE(entry.name);
    Model first(*communicator, true, lively(entry), entry);
    Model second(*communicator, true, lively(entry), entry);
    first.fill_gradients(1);
    first.arenas.update({.lr = 0.1, .step = 1});
    first.arenas.gather_states();
    second.arenas.deal(second.arenas.plan(5000));
    if (communicator->rank() == 0) {
      ASSERT_TRUE(second.arenas.load_weights(first.arenas.weights()));
      ASSERT_TRUE(second.arenas.load_states(first.arenas.states()));
    }
    second.arenas.broadcast();
    second.arenas.gather_states();
    first.arenas.gather_states();
    expect_same(second.arenas.weights(), first.arenas.weights());
    if (communicator->rank() == 0) expect_same(second.arenas.states(), first.arenas.states());
  }
}

TEST(Shard, KeepsOnlyItsShareOfTheState) {
  const auto communicator = all_ranks();
  const Model whole(*communicator, false);
  const Model parts(*communicator, true);
  const auto ranks = static_cast<std::size_t>(communicator->size());
  EXPECT_GE(parts.arenas.state_bytes() * ranks, whole.arenas.state_bytes());
  EXPECT_LE(parts.arenas.state_bytes() * ranks, whole.arenas.state_bytes() + 64 * 4 * ranks);
}

TEST(Shard, NeedsNoState) {
  const auto communicator = all_ranks();
  Model whole(*communicator, false, {.lr = 0.1});
  Model parts(*communicator, true, {.lr = 0.1});
  EXPECT_EQ(parts.arenas.state_bytes(), 0u);
  for (Model* model : {&whole, &parts}) {
    model->fill_gradients(1);
    model->arenas.update({.lr = 0.1});
  }
  expect_same(parts.arenas.weights(), whole.arenas.weights());
  parts.arenas.gather_states();
  EXPECT_TRUE(parts.arenas.states().empty());
}

TEST(Shard, StateMovesWithTheBuckets) {
  const auto communicator = all_ranks();
  Model fixed(*communicator, true);
  Model moving(*communicator, true);
  const std::vector<double> sizes = {1e9, 3000, 100000, 1};
  for (int step = 0; step < 4; ++step) {
    moving.arenas.deal(moving.arenas.plan(sizes[static_cast<std::size_t>(step)]));
    for (Model* model : {&fixed, &moving}) {
      model->fill_gradients(step);
      model->arenas.update({.lr = 0.1});
    }
  }
  expect_same(moving.arenas.weights(), fixed.arenas.weights());
}

TEST(Shard, StateRoundTripsThroughTensors) {
  const auto communicator = all_ranks();
  Model whole(*communicator, false);
  Model parts(*communicator, true);
  whole.fill_gradients(1);
  whole.arenas.update({.lr = 0.1});
  parts.arenas.deal(parts.arenas.plan(5000));
  if (communicator->rank() == 0) {
    ASSERT_TRUE(parts.arenas.load_weights(whole.arenas.weights()));
    ASSERT_TRUE(parts.arenas.load_states(whole.arenas.states()));
  }
  parts.arenas.broadcast();
  for (Model* model : {&whole, &parts}) {
    model->fill_gradients(2);
    model->arenas.update({.lr = 0.1});
  }
  expect_same(parts.arenas.weights(), whole.arenas.weights());
  parts.arenas.gather_states();
  Model again(*communicator, false);
  if (communicator->rank() == 0) {
    ASSERT_TRUE(again.arenas.load_weights(parts.arenas.weights()));
    ASSERT_TRUE(again.arenas.load_states(parts.arenas.states()));
  }
  again.arenas.broadcast();
  expect_same(again.arenas.states(), whole.arenas.states());
}

/// Every optimiser, with weight decay: frozen parameters keep their bits, and the others are
/// updated as if none were frozen.
TEST(Frozen, ParametersStayAndOthersAreUnaffected) {
  const auto communicator = all_ranks();
  const std::vector<std::string> freeze = {"conv1", "fc2.weight"};
  for (const auto& entry : optimizers()) {
    for (const bool shard : {false, true}) {
      SCOPED_TRACE(testing::Message() << entry.name << (shard ? ", sharded" : ""));
      Model free(*communicator, shard, lively(entry), entry);
      Model part(*communicator, shard, lively(entry), entry, freeze);
      const std::vector<double> sizes = {1e9, 3000, 1};
      const auto start = part.arenas.weights();
      for (int step = 0; step < 3; ++step) {
        const double size = sizes[static_cast<std::size_t>(step)];
        free.arenas.deal(free.arenas.plan(size));
        part.arenas.deal(part.arenas.plan(size));
        for (Model* model : {&free, &part}) {
          model->fill_gradients(step);
          model->arenas.update({.lr = 0.1, .step = step + 1, .epoch = 9.0 + step});
        }
      }
      const auto expected = free.arenas.weights();
      const auto weights = part.arenas.weights();
      int frozen = 0;
      for (std::size_t t = 0; t < weights.size(); ++t) {
        const bool stays = is_selected(freeze, weights[t].name);
        frozen += stays ? 1 : 0;
        EXPECT_EQ(part.arenas.frozen(static_cast<int>(t)), stays);
        EXPECT_NE(expected[t].data, start[t].data) << weights[t].name;
        if (!stays && shard && entry.measure != nullptr) {
          expect_near({weights[t]}, {expected[t]}, 1e-6F);  // norms are sums over other pieces
        } else {
          EXPECT_EQ(weights[t].data, stays ? start[t].data : expected[t].data) << weights[t].name;
        }
      }
      EXPECT_EQ(frozen, 3);
    }
  }
}

TEST(Frozen, StateOfTheOthersRoundTripsThroughTensors) {
  const auto communicator = all_ranks();
  const auto& adam = *find_optimizer("adam");
  for (const bool shard : {false, true}) {
    Model first(*communicator, shard, adam.defaults, adam, {"!fc2"});
    Model second(*communicator, shard, adam.defaults, adam, {"!fc2"});
    first.fill_gradients(1);
    first.arenas.update({.lr = 0.1, .step = 1});
    first.arenas.gather_states();
    if (communicator->rank() == 0) {
      ASSERT_TRUE(second.arenas.load_weights(first.arenas.weights()));
      ASSERT_TRUE(second.arenas.load_states(first.arenas.states()));
    }
    second.arenas.broadcast();
    for (Model* model : {&first, &second}) {
      model->fill_gradients(2);
      model->arenas.update({.lr = 0.1, .step = 2});
      model->arenas.gather_states();
    }
    expect_same(second.arenas.weights(), first.arenas.weights());
    if (communicator->rank() == 0) expect_same(second.arenas.states(), first.arenas.states());
  }
}

TEST(Frozen, ParametersAreNotReduced) {
  const auto communicator = all_ranks();
  const Model whole(*communicator, false);
  const Model head(*communicator, false, options, *find_optimizer("sgd"), {"!fc3"});
  const auto elements_in = [](const std::vector<Bucket>& buckets) {
    std::size_t sum = 0;
    for (const Bucket& bucket : buckets) sum += bucket.elements;
    return sum;
  };
  EXPECT_GT(elements_in(whole.arenas.plan(25e6)), 60000u);
  EXPECT_LT(elements_in(head.arenas.plan(25e6)), 1000u);
}

/// Rank r pulls weight i towards target(r, i): the gradient of (w - target)^2 / 2.
float target(int rank, std::size_t i) {
  return static_cast<float>(rank + 1) * static_cast<float>(i % 5);
}

struct Scalar {  // one weight and momentum, by hand
  float w = 0, v = 0;
  void apply(float g, float lr) {
    v = 0.9F * v + (g + 0.01F * w);
    w -= lr * v;
  }
};

TEST(Lag, MatchesTheRecurrence) {
  const auto communicator = all_ranks();
  const int ranks = communicator->size();
  const ArenaLayout layout = lay_out(DType::f32, std::vector<std::size_t>{16, 64, 32});  // no gaps
  const auto memory = communicator->allocate(layout.bytes());
  auto* gradients = reinterpret_cast<float*>(memory.data());
  GradientReducer reducer(*communicator, layout, memory, plan_buckets(layout, 100, 50),
                          {.lag = true});
  std::vector<float> weights(layout.total), momentum(layout.total);
  void* state = momentum.data();
  const auto apply = [&](double lr) {
    find_optimizer("sgd")->update(DType::f32, options, {.lr = lr},
                                  {.elements = layout.total,
                                   .weights = weights.data(),
                                   .gradients = gradients,
                                   .states = {&state, 1}});
  };

  std::vector<Scalar> expected(layout.total);
  std::vector<float> late(layout.total);
  const auto rate = [](int step) { return 0.05 / (1 + step % 3); };
  bool any_late = false;
  for (int step = 0; step < 12; ++step) {
    // By the program.
    reducer.begin();
    for (std::size_t i = 0; i < layout.total; ++i) {
      gradients[i] = weights[i] - target(communicator->rank(), i);
    }
    for (int slot = 0; slot < 3; ++slot) reducer.ready(slot);
    if (reducer.finish().reduced) apply(rate(step - 1));
    const bool pause = step % 5 == 4;  // a checkpoint: no gradient may remain
    if (pause) {
      ASSERT_TRUE(reducer.drain());
      apply(rate(step));
    }
    // By hand: the sum at this step's weights is applied at the end of the next step.
    for (std::size_t i = 0; i < layout.total; ++i) {
      float sum = expected[i].w - target(0, i);
      for (int rank = 1; rank < ranks; ++rank) sum += expected[i].w - target(rank, i);
      if (any_late) expected[i].apply(late[i], static_cast<float>(rate(step - 1)));
      late[i] = sum;
      if (pause) expected[i].apply(late[i], static_cast<float>(rate(step)));
      ASSERT_FLOAT_EQ(weights[i], expected[i].w) << "step " << step << ", element " << i;
    }
    any_late = !pause;
  }
  reducer.drain();
}

}  // namespace
}  // namespace dllaunch

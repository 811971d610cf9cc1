// The average of the weights on 1, 2, 3, 4 and 7 ranks, whole and sharded.
#include <gtest/gtest.h>

#include "tests/runtime/communicators/on_ranks.hpp"
#include "tests/trainer/parameters/model_on_ranks.hpp"

namespace dllaunch {
namespace {

constexpr double decay = 0.75;

/// Only the averages of states(), with the weights' names.
std::vector<Tensor> averages(const Model& model) {
  std::vector<Tensor> found;
  for (Tensor tensor : model.arenas.states()) {
    if (!tensor.name.ends_with(".ema")) continue;
    tensor.name.resize(tensor.name.size() - 4);
    found.push_back(std::move(tensor));
  }
  return found;
}

class WeightAverage : public testing::TestWithParam<bool> {
 protected:
  Model model(const std::vector<std::string>& freeze = {}) {
    return {*communicator_,
            {.shard = GetParam(), .average_decay = decay},
            options,
            *find_optimizer("sgd"),
            freeze};
  }
  void step(Model& model, int number) const {
    model.fill_gradients(number);
    model.arenas.update({.lr = 0.1, .step = number});
  }

  std::unique_ptr<Communicator> communicator_ = all_ranks();
};

TEST_P(WeightAverage, FollowsTheWeightsFromTheFirstOnes) {
  for (const std::vector<std::string>& freeze : {std::vector<std::string>{}, {"conv1", "fc2"}}) {
    Model averaged = model(freeze);
    averaged.arenas.deal(averaged.arenas.plan(3000));
    Model plain(*communicator_, GetParam(), options, *find_optimizer("sgd"), freeze);
    std::vector<std::vector<double>> expected;
    for (const Tensor& tensor : averaged.arenas.weights()) {
      const auto values = floats_of(tensor);
      expected.emplace_back(values.begin(), values.end());
    }
    for (int number = 1; number <= 5; ++number) {
      step(averaged, number);
      step(plain, number);
      const auto weights = averaged.arenas.weights();
      expect_same(weights, plain.arenas.weights());
      for (std::size_t t = 0; t < weights.size(); ++t) {
        const auto values = floats_of(weights[t]);
        for (std::size_t i = 0; i < values.size(); ++i) {
          expected[t][i] = decay * expected[t][i] + (1 - decay) * values[i];
        }
      }
    }
    averaged.arenas.gather_states();
    if (communicator_->rank() != 0) continue;
    const auto found = averages(averaged);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t t = 0; t < found.size(); ++t) {
      const auto values = floats_of(found[t]);
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_NEAR(values[i], expected[t][i], 1e-6) << found[t].name << " " << i;
      }
    }
  }
}

TEST_P(WeightAverage, TakesThePlaceOfTheWeightsOnEveryRank) {
  Model averaged = model({"conv1"});
  averaged.arenas.deal(averaged.arenas.plan(3000));
  for (int number = 1; number <= 3; ++number) step(averaged, number);
  const auto weights = averaged.arenas.weights();
  averaged.arenas.gather_states();
  std::vector<Tensor> expected = weights;
  if (communicator_->rank() == 0) expected = averages(averaged);
  for (Tensor& tensor : expected) {
    communicator_->wait(communicator_->broadcast(tensor.data.data(),
                                                 tensor.data.size() / sizeof(float), DType::f32,
                                                 /*root=*/0));
  }
  averaged.arenas.exchange_average();
  expect_same(averaged.arenas.weights(), expected);
  averaged.arenas.exchange_average();
  expect_same(averaged.arenas.weights(), weights);
}

TEST_P(WeightAverage, GoesOnFromWhatWasSaved) {
  Model first = model();
  for (int number = 1; number <= 2; ++number) step(first, number);
  first.arenas.gather_states();
  Model second = model();
  if (communicator_->rank() == 0) {
    ASSERT_TRUE(second.arenas.load_weights(first.arenas.weights()));
    ASSERT_TRUE(second.arenas.load_states(first.arenas.states()));
  }
  second.arenas.broadcast();
  for (Model* each : {&first, &second}) step(*each, 3);
  first.arenas.gather_states();
  second.arenas.gather_states();
  if (communicator_->rank() == 0) expect_same(second.arenas.states(), first.arenas.states());
}

INSTANTIATE_TEST_SUITE_P(WholeAndSharded, WeightAverage, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "sharded" : "whole"; });

}  // namespace
}  // namespace dllaunch

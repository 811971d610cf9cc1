#include "trainer/parameters/buffers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/communicators/on_ranks.hpp"
#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/backends/usable_backends.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

Graph normed() {
  GraphBuilder net("m", {2, 4, 4});
  net.add("conv", Conv2d{.channels = 3, .kernel = 3});
  net.add("bn", BatchNorm{});
  net.add("pool", GlobalAvgPool{});
  return *std::move(net).finish();
}

/// Fills buffers with values that differ between ranks and positions.
void fill(Compiled& compiled, int rank) {
  compiled->set_buffer(0, std::vector<double>{0.5 + rank, 1.25, -2.0 * rank});
  compiled->set_buffer(1, std::vector<double>{1.0, 1.0 + rank, 3.0});
  compiled->set_buffer(2, std::vector<double>{7.0 + rank});
}

class Buffers : public testing::TestWithParam<BackendEntry> {
 protected:
  Compiled compiled() const {
    Compiled result(GetParam(), graph_, {.batch = 4, .threads = 1});
    result.set_weights(random_weights(graph_));
    return result;
  }
  const Graph graph_ = normed();
};

TEST_P(Buffers, AreTensorsWithPyTorchsNames) {
  Compiled network = compiled();
  fill(network, 0);
  const auto tensors = buffer_tensors(graph_, *network);
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[0].name, "bn.running_mean");
  EXPECT_EQ(tensors[0].type, DType::f32);
  EXPECT_EQ(tensors[0].shape, Shape{3});
  EXPECT_EQ(tensors[1].name, "bn.running_var");
  EXPECT_EQ(tensors[2].name, "bn.num_batches_tracked");
  EXPECT_EQ(tensors[2].type, DType::i64);
  EXPECT_EQ(tensors[2].shape, Shape{});
  std::int64_t count = 0;
  ASSERT_EQ(tensors[2].data.size(), sizeof count);
  std::memcpy(&count, tensors[2].data.data(), sizeof count);
  EXPECT_EQ(count, 7);
}

TEST_P(Buffers, RoundTripBitForBit) {
  Compiled network = compiled();
  const Images images(graph_, 4);
  network->forward(images.batch(), Phase::train);
  auto tensors = buffer_tensors(graph_, *network);
  tensors.push_back({.name = "conv.weight", .type = DType::f32, .shape = {0}, .data = {}});
  Compiled other = compiled();
  const auto taken = take_buffers(graph_, *other, tensors);
  ASSERT_TRUE(taken) << taken.error().what;
  for (const int i : {0, 1, 2}) EXPECT_EQ(other->buffer(i), network->buffer(i));
  EXPECT_NE(other->buffer(0), std::vector<double>(3));
  ASSERT_EQ(tensors.size(), 1u) << "parameters are left";
  EXPECT_EQ(tensors[0].name, "conv.weight");
}

TEST_P(Buffers, RejectsMismatchesByName) {
  Compiled network = compiled();
  const auto refused = [&](auto&& damage) {
    auto tensors = buffer_tensors(graph_, *network);
    damage(tensors);
    const auto taken = take_buffers(graph_, *network, tensors);
    EXPECT_FALSE(taken);
    return taken ? "" : taken.error().what;
  };
  EXPECT_EQ(refused([](auto& tensors) { tensors.erase(tensors.begin() + 1); }),
            "has no tensor bn.running_var");
  EXPECT_EQ(refused([](auto& tensors) {
              tensors[0].shape = {1, 3};
            }),
            "bn.running_mean is f32 [1,3], the model needs f32 [3]");
  EXPECT_EQ(refused([](auto& tensors) { tensors[2].type = DType::f64; }),
            "bn.num_batches_tracked is f64 [], the model needs i64 []");
}

TEST_P(Buffers, AreAveragedOverRanks) {
  auto communicator = all_ranks();
  Compiled network = compiled();
  fill(network, communicator->rank());
  average_buffers(graph_, *network, *communicator);
  const double middle = (communicator->size() - 1) / 2.0;
  EXPECT_EQ(network->buffer(0), (std::vector<double>{0.5 + middle, 1.25, -2.0 * middle}));
  EXPECT_EQ(network->buffer(1), (std::vector<double>{1, 1 + middle, 3}));
  EXPECT_EQ(network->buffer(2), std::vector<double>{std::nearbyint(7 + middle)});
}

/// Training continues with the saved values: 0.1 is not a float.
TEST_P(Buffers, AreRoundedToTheCheckpointsType) {
  auto communicator = all_ranks();
  Compiled network = compiled();
  network->set_buffer(0, std::vector<double>{0.1, 0.2, 0.3});
  average_buffers(graph_, *network, *communicator);
  EXPECT_EQ(network->buffer(0)[0], static_cast<double>(0.1F));
}

TEST_P(Buffers, AreRankZerosAfterABroadcast) {
  auto communicator = all_ranks();
  Compiled network = compiled();
  fill(network, communicator->rank());
  broadcast_buffers(graph_, *network, *communicator);
  Compiled zero = compiled();
  fill(zero, 0);
  for (const int i : {0, 1, 2}) EXPECT_EQ(network->buffer(i), zero->buffer(i));
}

TEST_P(Buffers, AGraphWithoutBuffersNeedsNoCollective) {
  GraphBuilder net("m", {4});
  net.add("fc", Dense{.units = 2});
  const Graph plain = *std::move(net).finish();
  Compiled network(GetParam(), plain, {.batch = 2, .threads = 1});
  auto communicator = all_ranks();
  if (communicator->rank() == 0) {
    average_buffers(plain, *network, *communicator);
    broadcast_buffers(plain, *network, *communicator);
  }
  EXPECT_TRUE(buffer_tensors(plain, *network).empty());
}

INSTANTIATE_TEST_SUITE_P(Backends, Buffers, testing::ValuesIn(usable_backends()),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace dllaunch

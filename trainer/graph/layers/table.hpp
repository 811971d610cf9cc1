// The table of layer kinds, in the order of the job file's schema. To add one, include its file and
// list it here.
#pragma once

#include <variant>

#include "trainer/graph/layers/add.hpp"
#include "trainer/graph/layers/avg_pool2d.hpp"
#include "trainer/graph/layers/batch_norm.hpp"
#include "trainer/graph/layers/conv2d.hpp"
#include "trainer/graph/layers/conv3d.hpp"
#include "trainer/graph/layers/dense.hpp"
#include "trainer/graph/layers/dropout.hpp"
#include "trainer/graph/layers/flatten.hpp"
#include "trainer/graph/layers/global_avg_pool.hpp"
#include "trainer/graph/layers/input.hpp"
#include "trainer/graph/layers/max_pool2d.hpp"
#include "trainer/graph/layers/max_pool3d.hpp"
#include "trainer/graph/layers/relu.hpp"
#include "trainer/graph/layers/sequences/attention.hpp"
#include "trainer/graph/layers/sequences/class_token.hpp"
#include "trainer/graph/layers/sequences/embedding.hpp"
#include "trainer/graph/layers/sequences/first_token.hpp"
#include "trainer/graph/layers/sequences/gelu.hpp"
#include "trainer/graph/layers/sequences/layer_norm.hpp"
#include "trainer/graph/layers/sequences/position_embedding.hpp"
#include "trainer/graph/layers/sequences/to_sequence.hpp"
#include "trainer/graph/layers/tanh.hpp"
#include "trainer/graph/layers/zero_pad2d.hpp"

namespace dllaunch {

/// What a node computes. Activations are NCHW; x is the input, y the output.
using Operation =
    std::variant<Input, Conv2d, Conv3d, Dense, BatchNorm, MaxPool2d, MaxPool3d, AvgPool2d,
                 ZeroPad2d, Dropout, GlobalAvgPool, Relu, Tanh, Flatten, Add, Embedding,
                 PositionEmbedding, LayerNorm, Gelu, Attention, ToSequence, ClassToken, FirstToken>;

constexpr LayerTraits traits_of(const Operation& op) {
  return std::visit([](const auto& kind) { return kind.traits; }, op);
}

}  // namespace dllaunch

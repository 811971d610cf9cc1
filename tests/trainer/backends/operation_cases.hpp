// Small graphs that together cover every operation in every position.
#pragma once

#include <cassert>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// An operation on the previous node, or on the given nodes: 0 is the input, 1 the first operation.
struct Placed {
  template <typename Op>
  Placed(const Op& operation) : op(operation) {}
  Placed(const Operation& operation, std::vector<int> of) : op(operation), inputs(std::move(of)) {}

  Operation op;
  std::vector<int> inputs;
};

struct OperationCase {
  std::string name;
  Shape input;
  std::vector<Placed> operations;
  int classes = 3;  // units of a dense layer appended after a flatten; 0: none

  Graph graph() const {
    GraphBuilder net(name, input);
    int number = 0;
    for (const auto& [op, inputs] : operations) {
      const std::string node = "node" + std::to_string(++number);
      if (inputs.empty()) net.add(node, op);
      if (inputs.size() == 1) net.add(node, op, inputs[0]);
      if (inputs.size() == 2) net.add(node, op, inputs[0], inputs[1]);
    }
    if (classes > 0) {
      net.add("flatten", Flatten{});
      net.add("fc", Dense{.units = classes});
    }
    auto graph = std::move(net).finish();
    assert(graph);
    return *std::move(graph);
  }
};

inline void PrintTo(const OperationCase& one, std::ostream* out) {
  *out << one.name;
}

/// A 1x1 convolution before the operation, so that the gradient of its input is tested too.
inline const Conv2d in_front(int channels) {
  return {.channels = channels, .kernel = 1};
}

/// Without a bias, which a batch normalisation would cancel.
inline const Conv2d before_norm(int channels) {
  return {.channels = channels, .kernel = 1, .bias = false};
}

inline const Conv2d same_size(int channels) {
  return {.channels = channels, .kernel = 3, .padding = 1, .bias = false};
}

inline std::vector<OperationCase> chain_cases() {
  return {
      {"conv", {2, 7, 6}, {in_front(3), Conv2d{.channels = 4, .kernel = 3}}},
      {"conv_padded", {1, 5, 6}, {in_front(2), Conv2d{.channels = 3, .kernel = 3, .padding = 1}}},
      {"conv_strided", {2, 9, 8}, {in_front(3), Conv2d{.channels = 2, .kernel = 3, .stride = 2}}},
      {"conv_stride3_pad2",
       {3, 11, 8},
       {in_front(2), Conv2d{.channels = 5, .kernel = 5, .stride = 3, .padding = 2}}},
      {"conv_stride_beyond_kernel",
       {2, 8, 7},
       {in_front(2), Conv2d{.channels = 2, .kernel = 2, .stride = 3}}},
      {"conv_1x1_strided",
       {4, 5, 5},
       {in_front(3), Conv2d{.channels = 6, .kernel = 1, .stride = 2}}},
      {"conv_no_bias",
       {1, 6, 6},
       {in_front(2), Conv2d{.channels = 3, .kernel = 3, .padding = 1, .bias = false}}},
      {"conv_whole_image", {2, 4, 4}, {in_front(3), Conv2d{.channels = 7, .kernel = 4}}},
      {"conv_16_channels",
       {3, 6, 5},
       {in_front(16), Relu{}, Conv2d{.channels = 16, .kernel = 3, .padding = 1}, Relu{}}},
      {"conv_17_channels", {1, 6, 6}, {in_front(17), Conv2d{.channels = 19, .kernel = 3}}},
      {"conv_first", {3, 8, 8}, {Conv2d{.channels = 8, .kernel = 3, .padding = 1}}},
      {"max_pool", {2, 6, 6}, {in_front(3), MaxPool2d{}}},
      {"max_pool_odd", {2, 7, 5}, {in_front(3), MaxPool2d{}}},
      {"max_pool_overlapping", {2, 7, 8}, {in_front(3), MaxPool2d{.kernel = 3, .stride = 2}}},
      {"max_pool_apart", {2, 8, 8}, {in_front(3), MaxPool2d{.kernel = 2, .stride = 3}}},
      {"max_pool_first", {2, 6, 6}, {MaxPool2d{}, Conv2d{.channels = 3, .kernel = 2}}},
      {"avg_pool", {2, 6, 6}, {in_front(3), AvgPool2d{}}},
      {"avg_pool_odd", {2, 7, 5}, {in_front(17), AvgPool2d{}}},
      {"avg_pool_overlapping", {2, 7, 8}, {in_front(3), AvgPool2d{.kernel = 3, .stride = 2}}},
      {"relu_before_max_pool",
       {2, 7, 7},
       {in_front(3), Relu{}, MaxPool2d{.kernel = 3, .stride = 2}}},
      {"relu_after_max_pool", {2, 6, 6}, {in_front(3), MaxPool2d{}, Relu{}}},
      {"relu_between_pools", {2, 9, 9}, {in_front(3), AvgPool2d{}, Relu{}, MaxPool2d{}}},
      {"relu_after_tanh", {1, 4, 4}, {in_front(2), Tanh{}, Relu{}}},
      {"dense", {7}, {Dense{.units = 5}}},
      {"dense_no_bias", {7}, {Dense{.units = 5, .bias = false}, Relu{}}},
      {"dense_wide", {33}, {Dense{.units = 130}, Tanh{}, Dense{.units = 65}, Relu{}}},
      {"logits_of_convolution", {2, 4, 4}, {Conv2d{.channels = 5, .kernel = 4}, Flatten{}}, 0},
      {"logits_of_image", {2, 5, 5}, {Conv2d{.channels = 2, .kernel = 4}, Flatten{}}, 0},
      {"logits_of_relu", {6}, {Dense{.units = 4}, Relu{}}, 0},
      {"batch_norm", {2, 5, 4}, {before_norm(3), BatchNorm{}}},
      {"batch_norm_16_channels", {2, 6, 6}, {same_size(16), BatchNorm{}, same_size(4)}},
      {"batch_norm_17_channels", {2, 4, 4}, {before_norm(17), BatchNorm{}, Tanh{}}},
      {"batch_norm_relu", {2, 6, 6}, {same_size(16), BatchNorm{}, Relu{}, same_size(3)}},
      {"batch_norm_relu_pool", {2, 6, 6}, {same_size(16), BatchNorm{}, Relu{}, MaxPool2d{}}},
      {"batch_norm_first", {2, 5, 5}, {BatchNorm{}, in_front(3)}},
      {"batch_norm_after_pool", {2, 6, 6}, {before_norm(3), AvgPool2d{}, BatchNorm{}}},
      {"batch_norm_of_vectors", {9}, {Dense{.units = 7, .bias = false}, BatchNorm{}, Relu{}}},
      {"batch_norm_own_numbers", {1, 4, 4}, {before_norm(2), BatchNorm{.eps = 0.1, .momentum = 1}}},
      {"max_pool_padded", {2, 7, 6}, {in_front(3), MaxPool2d{3, 2, 1}}},
      {"max_pool_padded_after_relu", {2, 8, 8}, {in_front(16), Relu{}, MaxPool2d{3, 2, 1}}},
      {"max_pool_of_one", {2, 7, 7}, {in_front(3), MaxPool2d{.kernel = 1, .stride = 2}}},
      {"global_avg_pool", {2, 5, 4}, {in_front(3), GlobalAvgPool{}}},
      {"global_avg_pool_17", {2, 3, 3}, {in_front(17), Relu{}, GlobalAvgPool{}}},
      {"zero_pad", {2, 4, 5}, {in_front(3), ZeroPad2d{.pixels = 2}, MaxPool2d{3, 2}}},
      {"zero_pad_17_channels", {2, 4, 5}, {in_front(17), ZeroPad2d{}, same_size(3)}},
      {"zero_pad_first", {2, 4, 4}, {ZeroPad2d{}, in_front(3)}},
  };
}

/// Returns cases with nodes that have several inputs or several readers.
inline std::vector<OperationCase> branching_cases() {
  return {
      {"add", {2, 5, 5}, {in_front(3), same_size(3), {Add{}, {1, 2}}}},
      {"add_relu", {2, 5, 5}, {in_front(16), same_size(16), {Add{}, {2, 1}}, Relu{}}},
      {"add_to_itself", {2, 4, 4}, {in_front(3), {Add{}, {1, 1}}}},
      {"add_the_input", {3, 4, 4}, {same_size(3), {Add{}, {1, 0}}, same_size(2)}},
      {"add_pool_and_vector",
       {2, 4, 4},
       {in_front(5), {GlobalAvgPool{}, {1}}, {Flatten{}, {1}}, Dense{.units = 5}, {Add{}, {2, 4}}}},
      {"add_vector_and_pool_of_17",
       {2, 4, 4},
       {in_front(17),
        {GlobalAvgPool{}, {1}},
        Relu{},
        {Flatten{}, {1}},
        Dense{.units = 17, .bias = false},
        BatchNorm{},
        Placed{Add{}, {6, 3}},
        Relu{}}},
      {"add_two_pools",
       {2, 4, 4},
       {in_front(3),
        {GlobalAvgPool{}, {1}},
        {GlobalAvgPool{}, {0}},
        Dense{.units = 3},
        {Add{}, {2, 4}}}},
      {"two_readers", {2, 4, 4}, {in_front(3), Relu{}, {Tanh{}, {1}}, {Add{}, {2, 3}}}},
      {"three_readers",
       {2, 4, 4},
       {in_front(3), Tanh{}, {Relu{}, {1}}, {Add{}, {2, 3}}, {Add{}, {4, 1}}}},
      {"norm_added", {2, 5, 5}, {in_front(3), Tanh{}, BatchNorm{}, {Add{}, {3, 1}}, same_size(3)}},
      {"norm_added_far_behind",
       {2, 5, 5},
       {before_norm(3), BatchNorm{}, {same_size(3), {1}}, {Add{}, {2, 3}}, Relu{}, same_size(2)}},
      {"norm_read_twice",
       {2, 4, 4},
       {before_norm(3), BatchNorm{}, Relu{}, {Add{}, {2, 3}}, same_size(2)}},
      {"norm_added_to_itself",
       {2, 4, 4},
       {before_norm(3), BatchNorm{}, {Add{}, {2, 2}}, Relu{}, same_size(2)}},
      {"block",
       {2, 6, 6},
       {same_size(16), Relu{}, same_size(16), BatchNorm{}, Relu{}, same_size(16), BatchNorm{},
        Placed{Add{}, {7, 2}}, Relu{}, GlobalAvgPool{}}},
      {"block_with_projection",
       {2, 6, 6},
       {same_size(16),
        Relu{},
        same_size(32),
        BatchNorm{},
        {before_norm(32), {2}},
        BatchNorm{},
        Placed{Add{}, {4, 6}},
        Relu{},
        same_size(3)}},
      {"two_blocks",
       {2, 5, 5},
       {in_front(17), same_size(17), BatchNorm{}, Placed{Add{}, {3, 1}}, Relu{}, same_size(17),
        BatchNorm{}, Placed{Add{}, {7, 5}}, Relu{}, same_size(2)}},
      {"block_before_activation",
       {2, 6, 6},
       {same_size(16), BatchNorm{}, Relu{}, same_size(16), BatchNorm{}, Relu{}, before_norm(16),
        Placed{Add{}, {7, 1}}, BatchNorm{}, Relu{}, GlobalAvgPool{}}},
      {"block_before_activation_strided",
       {2, 7, 7},
       {same_size(16),
        BatchNorm{},
        Relu{},
        Conv2d{.channels = 16, .kernel = 3, .stride = 2, .padding = 1, .bias = false},
        {MaxPool2d{.kernel = 1, .stride = 2}, {1}},
        Placed{Add{}, {4, 5}},
        BatchNorm{},
        Relu{}}},
  };
}

/// Returns cases of sequences, made from tokens or from vectors.
inline std::vector<OperationCase> sequence_cases() {
  const Embedding words{.vocabulary = 11, .width = 12};
  const Dense to_three{.units = 36};
  return {
      {"embedding", {7}, {words}},
      {"embedding_of_pairs", {2}, {Embedding{.vocabulary = 3, .width = 1}}},
      {"position_embedding", {5}, {words, PositionEmbedding{}}},
      {"position_embedding_longer", {5}, {words, PositionEmbedding{.positions = 8}}},
      {"layer_norm", {5}, {words, LayerNorm{}}},
      {"layer_norm_of_17", {3}, {Embedding{.vocabulary = 5, .width = 17}, LayerNorm{.eps = 0.1}}},
      {"layer_norm_of_vectors", {9}, {Dense{.units = 33}, LayerNorm{}}},
      {"layer_norm_read_twice", {4}, {words, LayerNorm{}, Dense{.units = 12}, {Add{}, {2, 3}}}},
      {"gelu", {5}, {words, Gelu{}}},
      {"gelu_exact", {9}, {Dense{.units = 7}, Gelu{.exact = true}}},
      {"gelu_of_images", {2, 4, 4}, {in_front(17), Gelu{}, same_size(3)}},
      {"gelu_read_twice", {9}, {Dense{.units = 6}, Gelu{}, Dense{.units = 6}, {Add{}, {2, 3}}}},
      {"dense_of_sequences", {6}, {words, Dense{.units = 5}, Relu{}}},
      {"dense_input_major",
       {6},
       {words, Dense{.units = 20, .input_major = true}, Gelu{}, Dense{.units = 3}}},
      {"dense_input_major_of_vectors", {6}, {Dense{.units = 9, .input_major = true}}},
      {"dropout_of_sequences", {6}, {words, Dropout{.rate = 0.3}}},
      {"attention", {5}, {words, to_three, Attention{.heads = 3}}},
      {"attention_causal", {70}, {words, to_three, Attention{.heads = 2, .causal = true}}},
      {"attention_of_one_head", {17}, {words, to_three, Attention{}, Dense{.units = 4}}},
      {"attention_of_one_token", {1}, {words, to_three, Attention{.heads = 2, .causal = true}}},
      {"attention_in_blocks", {131}, {words, to_three, Attention{.heads = 2, .causal = true}}},
      {"block_of_gpt",
       {6},
       {words, PositionEmbedding{}, LayerNorm{}, to_three, Attention{.heads = 2, .causal = true},
        Dense{.units = 12}, Placed{Add{}, {2, 6}}, LayerNorm{}, Dense{.units = 24}, Gelu{},
        Dense{.units = 12}, Placed{Add{}, {7, 11}}, LayerNorm{}}},
      {"to_sequence", {3, 4, 5}, {in_front(17), ToSequence{}, Dense{.units = 4}}},
      {"to_sequence_first", {3, 4, 4}, {ToSequence{}, LayerNorm{}}},
      {"class_token", {5}, {words, ClassToken{}, PositionEmbedding{.batched = true}}},
      {"first_token", {5}, {words, LayerNorm{}, FirstToken{}}},
      {"patches", {2, 6, 6}, {same_size(6), ToSequence{}, ClassToken{}, LayerNorm{}, FirstToken{}}},
      {"logits_of_tokens", {6}, {words, Dense{.units = 9}}, 0},
      {"logits_of_embedding", {6}, {words}, 0},
  };
}

inline std::vector<OperationCase> dropout_cases() {
  return {
      {"dropout_of_vectors", {9}, {Dense{.units = 40}, Relu{}, Dropout{.rate = 0.3}}},
      {"dropout_of_17_channels", {2, 5, 4}, {in_front(17), Dropout{}, same_size(3)}},
      {"dropout_first", {2, 4, 4}, {Dropout{.rate = 0.2}, in_front(3)}},
      {"dropout_of_flattened", {2, 5, 5}, {same_size(16), Relu{}, Flatten{}, Dropout{}}},
      {"dropout_of_nothing", {7}, {Dense{.units = 6}, Dropout{.rate = 0}}},
      {"dropout_read_twice", {3, 4, 4}, {in_front(3), Dropout{}, Relu{}, {Add{}, {2, 3}}}},
      {"dropout_last", {6}, {Dense{.units = 4}, Dropout{.rate = 0.25}}, 0},
  };
}

inline std::vector<OperationCase> volume_cases() {
  const Conv3d front{.channels = 3};
  return {
      {"conv3d", {2, 5, 6, 7}, {front, Conv3d{.channels = 4, .kernel = {3, 2, 3}}}},
      {"conv3d_of_one_channel",
       {1, 7, 5, 5},
       {Conv3d{.channels = 16, .kernel = {5, 3, 3}}, Relu{}}},
      {"conv3d_strided_padded",
       {2, 6, 7, 5},
       {front,
        Conv3d{.channels = 17, .kernel = {3, 3, 2}, .stride = {2, 1, 3}, .padding = {1, 2, 0}},
        Tanh{}}},
      {"conv3d_no_bias",
       {2, 4, 4, 4},
       {front, Conv3d{.channels = 16, .kernel = {2, 2, 2}, .bias = false}}},
      {"max_pool3d", {2, 4, 6, 5}, {front, MaxPool3d{}}},
      {"max_pool3d_overlapping",
       {2, 5, 7, 5},
       {front, Relu{}, MaxPool3d{.kernel = {2, 3, 3}, .stride = {1, 2, 1}}}},
      {"batch_norm_of_volumes",
       {2, 3, 4, 5},
       {Conv3d{.channels = 16, .bias = false}, BatchNorm{}, Relu{}, front}},
      {"global_avg_pool_of_volumes", {2, 3, 4, 5}, {front, GlobalAvgPool{}}},
      {"add_volumes", {2, 3, 4, 5}, {front, front, {Add{}, {1, 2}}, Dropout{}}},
      {"logits_of_volume",
       {1, 3, 4, 4},
       {Conv3d{.channels = 5, .kernel = {3, 4, 4}}, Flatten{}},
       0},
  };
}

template <typename Kind>
void add_activation_cases(std::vector<OperationCase>& all) {
  if constexpr (Kind::traits.activation) {
    const std::string name(Kind::name);
    all.push_back({name + "_first", {1, 4, 4}, {Kind{}, in_front(2)}});
    all.push_back({name + "_after_conv", {2, 5, 5}, {in_front(3), Kind{}}});
    all.push_back({name + "_after_dense", {7}, {Dense{.units = 5}, Kind{}}});
    all.push_back({name + "_after_flatten", {2, 3, 3}, {in_front(3), Flatten{}, Kind{}}});
    all.push_back({name + "_after_norm", {2, 4, 4}, {before_norm(17), BatchNorm{}, Kind{}}});
    all.push_back({name + "_then_max_pool", {2, 6, 6}, {in_front(3), Kind{}, MaxPool2d{}}});
    all.push_back({name + "_of_volumes", {2, 3, 4, 5}, {Conv3d{.channels = 3}, Kind{}}});
    all.push_back({name + "_read_twice",
                   {2, 4, 4},
                   {in_front(3), Kind{}, same_size(3), {Add{}, {2, 3}}, Kind{}}});
  }
}

/// Returns cases for every activation in the table.
template <typename... Kinds>
std::vector<OperationCase> activation_cases(const std::variant<Kinds...>&) {
  std::vector<OperationCase> all;
  (add_activation_cases<Kinds>(all), ...);
  return all;
}

inline std::vector<OperationCase> operation_cases() {
  std::vector<OperationCase> all = chain_cases();
  for (OperationCase& one : activation_cases(Operation())) all.push_back(std::move(one));
  for (auto more : {dropout_cases, volume_cases, sequence_cases, branching_cases}) {
    for (OperationCase& one : more()) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace dllaunch

// Small graphs that between them hold every operation in every place it may stand.
#pragma once

#include <cassert>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "trainer/graph.hpp"

namespace dllaunch {

struct OperationCase {
  std::string name;
  Shape input;
  std::vector<Operation> operations;
  int classes = 3;  // a flatten and a dense layer of so many are added; 0: nothing is

  Graph graph() const {
    GraphBuilder net(name, input);
    int number = 0;
    for (const Operation& operation : operations) {
      net.add("node" + std::to_string(++number), operation);
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

/// A 1x1 convolution in front, so that the gradient of the operation's input is looked at too.
inline const Conv2d in_front(int channels) {
  return {.channels = channels, .kernel = 1};
}

inline std::vector<OperationCase> operation_cases() {
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
      {"relu_after_conv", {2, 5, 5}, {in_front(3), Relu{}}},
      {"relu_before_max_pool",
       {2, 7, 7},
       {in_front(3), Relu{}, MaxPool2d{.kernel = 3, .stride = 2}}},
      {"relu_after_max_pool", {2, 6, 6}, {in_front(3), MaxPool2d{}, Relu{}}},
      {"relu_between_pools", {2, 9, 9}, {in_front(3), AvgPool2d{}, Relu{}, MaxPool2d{}}},
      {"relu_first", {1, 4, 4}, {Relu{}, in_front(2)}},
      {"relu_after_tanh", {1, 4, 4}, {in_front(2), Tanh{}, Relu{}}},
      {"tanh_after_conv", {2, 5, 5}, {in_front(3), Tanh{}}},
      {"tanh_before_max_pool", {2, 6, 6}, {in_front(3), Tanh{}, MaxPool2d{}}},
      {"tanh_after_flatten", {2, 3, 3}, {in_front(3), Flatten{}, Tanh{}}},
      {"dense", {7}, {Dense{.units = 5}}},
      {"dense_no_bias", {7}, {Dense{.units = 5, .bias = false}, Relu{}}},
      {"dense_wide", {33}, {Dense{.units = 130}, Tanh{}, Dense{.units = 65}, Relu{}}},
      {"logits_of_convolution", {2, 4, 4}, {Conv2d{.channels = 5, .kernel = 4}, Flatten{}}, 0},
      {"logits_of_image", {2, 5, 5}, {Conv2d{.channels = 2, .kernel = 4}, Flatten{}}, 0},
      {"logits_of_relu", {6}, {Dense{.units = 4}, Relu{}}, 0},
  };
}

}  // namespace dllaunch

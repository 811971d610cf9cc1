#include "trainer/graph/readers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace dllaunch {
namespace {

/// input, fc1, relu, add of fc1 and relu, fc2.
Graph branching() {
  GraphBuilder net("m", {4});
  const int first = net.add("fc1", Dense{.units = 3});
  const int relu = net.add("relu", Relu{});
  net.add("add", Add{}, first, relu);
  net.add("fc2", Dense{.units = 2});
  return *std::move(net).finish();
}

TEST(Readers, AreCountedOnceForEachInput) {
  EXPECT_EQ(readers_of(branching()), (std::vector<std::vector<int>>{{1}, {2, 3}, {3}, {4}, {}}));
  GraphBuilder net("m", {4});
  const int first = net.add("fc1", Dense{.units = 3});
  net.add("add", Add{}, first, first);
  EXPECT_EQ(readers_of(*std::move(net).finish()), (std::vector<std::vector<int>>{{1}, {2, 2}, {}}));
}

TEST(Readers, WhatLiesBehindATrainedParameterIsTrained) {
  Graph graph = branching();
  EXPECT_EQ(trained_nodes(graph), (std::vector<bool>{false, true, true, true, true}));
  for (Parameter& parameter : graph.parameters) {
    parameter.frozen = parameter.name.starts_with("fc1");
  }
  EXPECT_EQ(trained_nodes(graph), (std::vector<bool>{false, false, false, false, true}));
  for (Parameter& parameter : graph.parameters) parameter.frozen = true;
  EXPECT_EQ(std::ranges::count(trained_nodes(graph), true), 0);
}

}  // namespace
}  // namespace dllaunch

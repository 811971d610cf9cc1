// The network of a configuration, for the data that it is trained on.
#pragma once

#include "support/result.hpp"
#include "trainer/config/config.hpp"
#include "trainer/data/datasets/dataset.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// What a network must know of its data.
struct DataShape {
  ImageShape image = {};  // prepared, as the network gets it; of tokens [1, 1, tokens]
  int classes = 0;        // or target values, or ids in the vocabulary
  TargetKind targets = TargetKind::class_index;
};

DataShape data_shape(const Dataset& dataset, const TrainConfig& config);

/// Applies the configuration: loss, zero_gamma, freeze. bad_request: the model does not fit the
/// data, or a setting does not fit the model.
Result<Graph> build_model(const TrainConfig& config, const DataShape& data);

}  // namespace dllaunch

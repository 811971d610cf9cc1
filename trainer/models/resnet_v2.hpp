// The common part of the ResNet v2 models.
#pragma once

#include <array>
#include <string>

#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// Batch normalisation before each convolution (He et al. 2016), with the structure and layer names
/// of keras.applications: the last block of a stage has the stride, not the first block of the
/// next. `blocks` is the number of blocks in each of the four stages.
Result<Graph> build_resnet_v2(std::string model, const std::array<int, 4>& blocks,
                              const ImageShape& image, int classes);

}  // namespace dllaunch

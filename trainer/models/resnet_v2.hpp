// What the residual networks of the second kind share.
#pragma once

#include <array>
#include <string>

#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// Batch normalisation before each convolution (He et al. 2016), in the form and with the layer
/// names of keras.applications: the last block of a stage strides, not the first of the next.
/// `blocks`: of each of the four stages.
Result<Graph> build_resnet_v2(std::string model, const std::array<int, 4>& blocks,
                              const ImageShape& image, int classes);

}  // namespace dllaunch

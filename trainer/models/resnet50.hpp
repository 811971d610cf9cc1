// ResNet-50 with a configurable model name.
#pragma once

#include <string>

#include "trainer/graph/graph.hpp"

namespace dllaunch {

Result<Graph> build_resnet50(std::string model, const ImageShape& image, int classes);

}  // namespace dllaunch

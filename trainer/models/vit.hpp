// The family of vision transformers.
#pragma once

#include <string>

#include "support/result.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

struct VitSize {
  int layers = 12;
  int width = 768;
  int heads = 12;
  int hidden = 3072;
  int patch = 16;  // pixels of its side
};

/// bad_request: the patches do not cover the image.
Result<Graph> build_vit(std::string model, const VitSize& size, const ImageShape& image,
                        int classes);

}  // namespace dllaunch

// The family of GPT-2.
#pragma once

#include <string>

#include "support/result.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

struct Gpt2Size {
  int layers = 12;
  int width = 768;
  int heads = 12;
  int positions = 1024;  // the longest sequence
};

/// image: {1, 1, tokens}; vocabulary: the number of different tokens, which are also the classes.
/// bad_request: images, or more tokens than positions.
Result<Graph> build_gpt2(std::string model, const Gpt2Size& size, const ImageShape& image,
                         int vocabulary);

}  // namespace dllaunch

#include "trainer/backends/gpu/layers/convolution_extents.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dllaunch::gpu {
namespace {

std::string_view word_of(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return "forward";
    case Pass::backward_data:
      return "data";
    case Pass::backward_weights:
      return "weights";
  }
  return "";
}

}  // namespace

Extents extents_of(const Volume& v, bool flat) {
  const std::int64_t row = v.pixels() * v.channels;
  if (flat) {
    return {{v.rows, v.channels, v.height, v.width}, {row, 1, v.width * v.channels, v.channels}};
  }
  return {{v.rows, v.channels, v.depth, v.height, v.width},
          {row, 1, v.height * v.width * v.channels, v.width * v.channels, v.channels}};
}

Volume weights_of(const ConvolutionShape& shape) {
  const auto& kernel = shape.window.kernel;
  return {shape.y.channels, kernel[0], kernel[1], kernel[2], shape.x.channels};
}

bool is_flat(const ConvolutionShape& shape) {
  return shape.x.depth == 1 && shape.y.depth == 1 && shape.window.kernel[0] == 1 &&
         shape.window.padding[0] == 0;
}

std::vector<std::int64_t> axes_of(const std::array<std::int64_t, 3>& all, bool flat) {
  return {all.begin() + (flat ? 1 : 0), all.end()};
}

std::string text_of(const ConvolutionShape& shape, Pass pass) {
  const auto volume = [](const Volume& v) {
    return fmt::format("{}x{}x{}x{}x{}", v.rows, v.channels, v.depth, v.height, v.width);
  };
  const auto& [kernel, stride, padding] = shape.window;
  return fmt::format("{},{},x{},y{},k{},s{},p{}", word_of(pass),
                     shape.tf32 ? "tf32" : to_string(shape.type), volume(shape.x), volume(shape.y),
                     fmt::join(kernel, "x"), fmt::join(stride, "x"), fmt::join(padding, "x"));
}

}  // namespace dllaunch::gpu

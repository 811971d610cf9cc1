#include "trainer/graph/layers/layer.hpp"

#include <fmt/format.h>

#include <functional>
#include <numeric>
#include <utility>

namespace dllaunch {

std::int64_t elements_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::string to_string(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

Shown::Shown(int value) : text(std::to_string(value)) {}
Shown::Shown(std::int64_t value) : text(std::to_string(value)) {}
Shown::Shown(double value) : text(fmt::format("{}", value)) {}
Shown::Shown(const std::array<int, 3>& extents)
    : text(fmt::format("{}", fmt::join(extents, "x"))) {}
Shown::Shown(const Shape& shape) : text(to_string(shape)) {}

Inferred refuse(std::string_view problem, std::initializer_list<Shown> values) {
  Inferred inferred;
  for (const Shown& value : values) {
    const std::size_t place = problem.find("{}");
    inferred.problem += problem.substr(0, place);
    inferred.problem += value.text;
    problem.remove_prefix(place + 2);
  }
  inferred.problem += problem;
  return inferred;
}

Inferred needs_image(const Shape& x) {
  return refuse("needs an image [channels,height,width], got {}", {x});
}

Inferred needs_volume(const Shape& x) {
  return refuse("needs a volume [channels,depth,height,width], got {}", {x});
}

Inferred only(Shape shape) {
  Inferred inferred;
  inferred.shape = std::move(shape);
  return inferred;
}

std::vector<Parameter> weight_and_bias(const Shape& weight, bool bias, Initial initial) {
  // Keras counts a convolution's fans per output pixel: the kernel's area times its channels.
  const std::int64_t area = elements_of(weight) / (weight[0] * weight[1]);
  const std::int64_t fan_in = weight[1] * area;
  const std::int64_t fan_out = weight[0] * area;
  std::vector<Parameter> both = {{"weight", weight, fan_in, fan_out, initial}};
  const bool drawn = initial == Initial::torch_uniform;
  if (bias)
    both.push_back({"bias", {weight[0]}, fan_in, fan_out, drawn ? initial : Initial::zeros});
  return both;
}

}  // namespace dllaunch

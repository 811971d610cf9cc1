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

MessageArg::MessageArg(int value) : text(std::to_string(value)) {}
MessageArg::MessageArg(std::int64_t value) : text(std::to_string(value)) {}
MessageArg::MessageArg(double value) : text(fmt::format("{}", value)) {}
MessageArg::MessageArg(const std::array<int, 3>& extents)
    : text(fmt::format("{}", fmt::join(extents, "x"))) {}
MessageArg::MessageArg(const Shape& shape) : text(to_string(shape)) {}

Inferred shape_error(std::string_view problem, std::initializer_list<MessageArg> values) {
  Inferred inferred;
  for (const MessageArg& value : values) {
    const std::size_t place = problem.find("{}");
    inferred.problem += problem.substr(0, place);
    inferred.problem += value.text;
    problem.remove_prefix(place + 2);
  }
  inferred.problem += problem;
  return inferred;
}

Inferred needs_image(const Shape& x) {
  return shape_error("needs an image [channels,height,width], got {}", {x});
}

Inferred needs_volume(const Shape& x) {
  return shape_error("needs a volume [channels,depth,height,width], got {}", {x});
}

Inferred needs_sequence(const Shape& x) {
  return shape_error("needs a sequence [tokens,width], got {}", {x});
}

Inferred shape_only(Shape shape) {
  Inferred inferred;
  inferred.shape = std::move(shape);
  return inferred;
}

std::vector<Parameter> weight_and_bias(const Shape& weight, bool bias, Initial initial) {
  // As Keras: fan = kernel area times channels.
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

// What the file of a kind of layer in layers/ must define: a struct of its options with
//   name: of the kind in a job file
//   keys(): a tuple of LayerKey, if it has options
//   traits: a LayerTraits
// and the functions
//   infer(kind, x): returns the shape of its output, its parameters and its buffers
//   reference::forward(kind, view) and backward(kind, view): its loops, see layers/loops.hpp.
// An activation defines value() and gradient() instead of these functions.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "runtime/numerics/dtype.hpp"

namespace dllaunch {

/// A shape without the batch: an image is [channels, height, width], a volume [channels, depth,
/// height, width], a sequence [tokens, width], a vector [features].
using Shape = std::vector<std::int64_t>;

std::int64_t elements_of(const Shape& shape);
std::string to_string(const Shape& shape);  // "[3,32,32]"

/// Initialisation of a parameter. Fans: see Parameter.
enum class Initial {
  zeros,
  ones,
  glorot_uniform,  // +- sqrt(6 / (fan_in + fan_out)), Keras's default (Glorot and Bengio 2010)
  he_normal,       // deviation sqrt(2 / fan_out), torchvision's ResNet (He et al. 2015)
  torch_uniform,   // +- 1 / sqrt(fan_in), PyTorch's Linear, also for its bias
  normal,          // deviation Parameter::deviation
};

struct Parameter {
  std::string name;          // PyTorch style: "conv1.weight"
  Shape shape;               // PyTorch's order: OIHW, [out,in], [out]
  std::int64_t fan_in = 0;   // input channels times kernel area
  std::int64_t fan_out = 0;  // output channels times kernel area
  Initial initial = Initial::zeros;
  bool frozen = false;   // not trained
  double deviation = 0;  // of Initial::normal
};

/// State that a node keeps from step to step and that has no gradient.
struct Buffer {
  std::string name;  // PyTorch style: "bn1.running_mean"
  Shape shape;
  DType type = DType::f32;  // in a checkpoint; f32 or i64
  double initial = 0;
};

/// Whether a layer distinguishes an image from the vector of its elements.
enum class Flattening {
  seen,
  passed_on,  // its readers may
  unseen,
};

/// Properties of a kind of layer, for backends. The defaults are safe: they keep arrays longer than
/// necessary, never shorter.
struct LayerTraits {
  int inputs = 1;
  /// y[i] = Kind::value(x[i]) and dx[i] = Kind::gradient(y[i], dy[i]), static functions of the kind
  /// that all backends except oneDNN call.
  bool activation = false;
  /// Multiplies by a weight and adds a bias, computed by a vendor library. Parameters: {weight,
  /// bias}.
  bool weighted = false;
  bool backward_reads_x = true;
  bool backward_reads_y = true;
  bool stores_argmax = false;  // forward() stores the argmax of each window for backward()
  Flattening flattening = Flattening::seen;
};

/// Traits of an activation.
constexpr LayerTraits elementwise{
    .activation = true, .backward_reads_x = false, .flattening = Flattening::passed_on};
/// Traits of a layer whose backward pass reads neither x nor y.
constexpr LayerTraits backward_reads_nothing{.backward_reads_x = false, .backward_reads_y = false};

/// A key of a layer in a job file, and the field it sets. The field's initial value is the default.
template <typename Kind, typename Value>
struct LayerKey {
  std::string_view name;
  Value Kind::*field;
  bool needed = false;              // must be given
  Value Kind::*fallback = nullptr;  // field whose value is the default instead
};
template <typename Kind, typename Value>
constexpr LayerKey<Kind, Value> key(std::string_view name, Value Kind::*field) {
  return {name, field};
}
template <typename Kind, typename Value>
constexpr LayerKey<Kind, Value> needed_key(std::string_view name, Value Kind::*field) {
  return {name, field, true};
}
template <typename Kind, typename Value>
constexpr LayerKey<Kind, Value> key_as(std::string_view name, Value Kind::*field,
                                       Value Kind::*fallback) {
  return {name, field, false, fallback};
}

/// Result of shape inference. Names of parameters and buffers do not include the node's.
struct Inferred {
  Shape shape;
  std::vector<Parameter> parameters;
  std::vector<Buffer> buffers;
  std::string problem;  // empty: none; "needs at least 2x2 pixels, got [64,1,1]"
};

/// A value formatted for a message: 3, 0.5, 3x3x1, [64,1,1].
struct MessageArg {
  MessageArg(int value);
  MessageArg(std::int64_t value);
  MessageArg(double value);
  MessageArg(const std::array<int, 3>& extents);
  MessageArg(const Shape& shape);
  std::string text;
};

/// Returns a problem; each {} is replaced by the next value.
Inferred shape_error(std::string_view problem, std::initializer_list<MessageArg> values = {});
Inferred needs_image(const Shape& x);
Inferred needs_volume(const Shape& x);
Inferred needs_sequence(const Shape& x);
/// Returns the shape of a layer without parameters.
Inferred shape_only(Shape shape);

template <typename Kind>
requires(Kind::traits.activation) Inferred infer(const Kind&, const Shape& x) {
  return shape_only(x);
}

/// Returns the output pixels along one axis, rounded down.
constexpr std::int64_t output_extent(std::int64_t pixels, int kernel, int stride, int padding) {
  return (pixels + std::int64_t{2} * padding - kernel) / stride + 1;
}

/// Returns the parameters weight [outputs, inputs, ...] and, if `bias`, bias [outputs].
std::vector<Parameter> weight_and_bias(const Shape& weight, bool bias, Initial initial);

}  // namespace dllaunch

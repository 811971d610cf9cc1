// What the one file of a kind of layer in layers/ is made of.
//
// A kind is a struct of its options with
//   name: of the kind in a job file; keys() where it has options: a tuple of LayerKey
//   traits: a LayerTraits
// and functions
//   infer(kind, x): the shape of its output, and its parameters and buffers
//   reference::forward(kind, view) and backward(kind, view): its loops, see layers/loops.hpp.
// An activation has value() and gradient() in place of all three functions.
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

/// Extents without the batch: an image is [channels, height, width], a volume [channels, depth,
/// height, width], a vector [features].
using Shape = std::vector<std::int64_t>;

std::int64_t elements_of(const Shape& shape);
std::string to_string(const Shape& shape);  // "[3,32,32]"

/// What a parameter holds before the first step. Fans: see Parameter.
enum class Initial {
  zeros,
  ones,
  glorot_uniform,  // +- sqrt(6 / (fan_in + fan_out)): Keras's default
  he_normal,       // standard deviation sqrt(2 / fan_out): torchvision's ResNet
  torch_uniform,   // +- 1 / sqrt(fan_in): PyTorch's Linear, its bias too
};

struct Parameter {
  std::string name;          // PyTorch style: "conv1.weight"
  Shape shape;               // PyTorch's order: OIHW, [out,in], [out]
  std::int64_t fan_in = 0;   // of the node, as Keras defines them for Glorot:
  std::int64_t fan_out = 0;  // channels (in, out) times the kernel's area
  Initial initial = Initial::zeros;
  bool frozen = false;  // training does not change it
};

/// What a node keeps from step to step that no gradient changes.
struct Buffer {
  std::string name;  // PyTorch style: "bn1.running_mean"
  Shape shape;
  DType type = DType::f32;  // in a checkpoint; f32 or i64
  double initial = 0;
};

/// Whether a layer can tell an image from the vector of its elements.
enum class Flattening {
  seen,
  passed_on,  // only its readers may
  unseen,
};

/// What backends ask about a kind of layer. The defaults are safe: they keep arrays longer than
/// necessary, never shorter.
struct LayerTraits {
  int inputs = 1;
  /// y[i] = Kind::value(x[i]) and dx[i] = Kind::gradient(y[i], dy[i]), static functions of the
  /// kind; all backends but oneDNN call these.
  bool activation = false;
  /// A library computes it as products with a weight and adds a bias: parameters {weight, bias}.
  bool weighted = false;
  bool rereads_input = true;   // backward() reads x
  bool rereads_output = true;  // backward() reads y
  bool stores_argmax = false;  // forward() notes which input of each window is the largest
  Flattening flattening = Flattening::seen;
};

/// Traits of an activation.
constexpr LayerTraits elementwise{
    .activation = true, .rereads_input = false, .flattening = Flattening::passed_on};
/// Traits of a layer whose backward pass reads neither x nor y.
constexpr LayerTraits rereads_nothing{.rereads_input = false, .rereads_output = false};

/// A key that a layer has in a job file: a field of its struct, whose initial value is the default.
template <typename Kind, typename Value>
struct LayerKey {
  std::string_view name;
  Value Kind::*field;
  bool needed = false;               // must be given
  Value Kind::*otherwise = nullptr;  // the field that is the default in place of the initial value
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
                                       Value Kind::*otherwise) {
  return {name, field, false, otherwise};
}

/// What a node makes of its inputs, or a problem. Names of parameters and buffers lack the node's.
struct Inferred {
  Shape shape;
  std::vector<Parameter> parameters;
  std::vector<Buffer> buffers;
  std::string problem;  // "needs at least 2x2 pixels, got [64,1,1]"
};

/// A value as messages show it: 3, 0.5, 3x3x1, [64,1,1].
struct Shown {
  Shown(int value);
  Shown(std::int64_t value);
  Shown(double value);
  Shown(const std::array<int, 3>& extents);
  Shown(const Shape& shape);
  std::string text;
};

/// Each {} of `problem` is replaced by one of the values.
Inferred refuse(std::string_view problem, std::initializer_list<Shown> values = {});
Inferred needs_image(const Shape& x);
Inferred needs_volume(const Shape& x);
/// A layer without parameters.
Inferred only(Shape shape);

template <typename Kind>
requires(Kind::traits.activation) Inferred infer(const Kind&, const Shape& x) {
  return only(x);
}

/// Output pixels along one axis; floor mode.
constexpr std::int64_t windows(std::int64_t pixels, int kernel, int stride, int padding) {
  return (pixels + std::int64_t{2} * padding - kernel) / stride + 1;
}

/// Weight [outputs, inputs, ...] and bias [outputs].
std::vector<Parameter> weight_and_bias(const Shape& weight, bool bias, Initial initial);

}  // namespace dllaunch

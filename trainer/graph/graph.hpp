// A model as a value: nodes with shapes, parameters with names. Backends compile it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/numerics/dtype.hpp"
#include "support/result.hpp"

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

// Operations. Activations are NCHW, y is the output of the node, x of its input.

struct Input {};

/// y[n,k,i,j] = b[k] + sum over c,r,s of x[n,c,i*stride+r-padding,j*stride+s-padding] * w[k,c,r,s]
/// Parameters: weight [channels, c, kernel, kernel], bias [channels].
struct Conv2d {
  int channels = 0;
  int kernel = 0;
  int stride = 1;   // pixels, both axes
  int padding = 0;  // pixels, both axes, both sides, zeros
  bool bias = true;
  Initial initial = Initial::glorot_uniform;  // of the weight; the bias starts at zero
};

/// The same over volumes; depth, height, width. weight [channels, c, kernel...], bias [channels].
struct Conv3d {
  int channels = 0;
  std::array<int, 3> kernel = {1, 1, 1};
  std::array<int, 3> stride = {1, 1, 1};
  std::array<int, 3> padding = {0, 0, 0};  // both sides, zeros
  bool bias = true;
  Initial initial = Initial::glorot_uniform;
};

/// y[n,u] = b[u] + sum over f of x[n,f] * w[u,f].   Parameters: weight [units, f], bias [units].
struct Dense {
  int units = 0;
  bool bias = true;
  Initial initial = Initial::glorot_uniform;  // torch_uniform: of the bias as well
};

/// Per channel, over all present images of the batch and all pixels:
/// y = (x - mean) / sqrt(var + eps) * weight + bias, var the mean of squares (Ioffe, Szegedy 2015).
/// Phase::train takes the batch's own mean and var and moves the running ones towards them:
/// running = (1 - momentum) * running + momentum * the batch's, whose var is then the unbiased
/// estimate, as PyTorch's (of a single value: as it is). Phase::evaluate takes the running ones.
/// Parameters: weight [channels], bias [channels].
/// Buffers: running_mean [channels], running_var [channels], num_batches_tracked [].
struct BatchNorm {
  double eps = 1e-5;
  double momentum = 0.1;  // Keras's 0.99 is 0.01 here
  Initial weight = Initial::ones;
};

/// Windows that would cross the lower or right edge are left out (PyTorch's floor mode).
struct MaxPool2d {
  int kernel = 2;
  int stride = 2;
  int padding = 0;  // pixels, all sides, never the largest; at most half the kernel
};
struct AvgPool2d {
  int kernel = 2;
  int stride = 2;
};

/// Of volumes: depth, height, width.
struct MaxPool3d {
  std::array<int, 3> kernel = {2, 2, 2};
  std::array<int, 3> stride = {2, 2, 2};
};

/// [c,h,w] or [c,d,h,w] -> [c]: the mean over all pixels.
struct GlobalAvgPool {};

/// Zeros around the image, so many pixels on all sides.
struct ZeroPad2d {
  int pixels = 1;
};

struct Relu {};
struct Tanh {};

/// Phase::train: of all elements of x, those of a random part `rate` become 0, the others are
/// divided by 1 - rate. Which ones follows from Batch::random, the node's name and the element's
/// place alone. Phase::evaluate: y = x.
struct Dropout {
  double rate = 0.5;
};

/// The sum of two inputs of one shape.
struct Add {};

/// [c,h,w] -> [c*h*w], in that order (PyTorch's flatten); volumes alike.
struct Flatten {};

using Operation =
    std::variant<Input, Conv2d, Conv3d, Dense, BatchNorm, MaxPool2d, MaxPool3d, AvgPool2d,
                 GlobalAvgPool, ZeroPad2d, Relu, Tanh, Dropout, Add, Flatten>;

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

struct Node {
  std::string name;
  Operation op;
  std::vector<int> inputs;      // indexes of earlier nodes
  Shape shape;                  // of the output
  std::vector<int> parameters;  // indexes into Graph::parameters: weight, then bias
  std::vector<int> buffers;     // indexes into Graph::buffers, in the operation's order
};

/// What is known of an image beside its pixels, and wanted of the network.
enum class TargetKind {
  class_index,  // one of the classes
  class_set,    // any number of the classes: 0 or 1 for each
  values,       // real numbers
};

/// What training makes small: a name of losses(), and its options.
struct LossChoice {
  std::string name = "softmax_cross_entropy";
  double label_smoothing = 0;
};

struct Graph {
  std::string model;
  std::vector<Node> nodes;  // topological order; the first is the input, the last gives the logits
  std::vector<Parameter> parameters;
  std::vector<Buffer> buffers;
  LossChoice loss = {};

  const Shape& input_shape() const { return nodes.front().shape; }
  std::int64_t classes() const { return nodes.back().shape.front(); }
  std::int64_t parameter_count() const;  // elements, of frozen ones too
};

/// Adds nodes one by one and infers their shapes; the first error is kept and returned by finish().
/// Names are unique, every node but the last is read by another, the last one is a vector.
class GraphBuilder {
 public:
  GraphBuilder(std::string model, Shape input);

  /// Appends a node that reads the latest one, or `input` where given. Returns its index.
  int add(std::string name, Operation op);
  int add(std::string name, Operation op, int input);
  /// Of two inputs, where the operation takes two.
  int add(std::string name, Operation op, int first, int second);

  /// bad_request: "model cnn: pool1 needs at least 2x2 pixels, got [64,1,1]" and the like.
  Result<Graph> finish() &&;

 private:
  int add_node(Node node);

  Graph graph_;
  std::string problem_;  // of the first node that had one, "NAME needs ..."
};

struct ImageShape {
  int channels = 1;
  int height = 28;
  int width = 28;
};

}  // namespace dllaunch

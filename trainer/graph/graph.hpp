// The graph: a model as a value, nodes with shapes and parameters with names.
// It holds no weights and computes nothing; backends compile it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.hpp"
#include "trainer/graph/layers/table.hpp"

namespace dllaunch {

struct Node {
  std::string name;
  Operation op;
  std::vector<int> inputs;      // indexes of earlier nodes
  Shape shape;                  // of the output
  std::vector<int> parameters;  // indexes into Graph::parameters: weight, then bias
  std::vector<int> buffers;     // indexes into Graph::buffers, in infer()'s order
  bool shares = false;          // its parameters are those of an earlier node
};

/// What the data set gives as the target of an image.
enum class TargetKind {
  class_index,  // one of the classes
  class_set,    // any number of classes: 0 or 1 for each
  values,       // real numbers
};

/// The training loss: a name of losses(), and its options.
struct LossChoice {
  std::string name = "softmax_cross_entropy";
  double label_smoothing = 0;
};

/// Where a stage of a network is joined to others.
struct Joints {
  bool input = false;  // it is the output of the stage before: backward() computes its gradient too
  bool output = false;  // the next stage reads it and gives its gradient; there is no loss
};

struct Graph {
  std::string model;
  std::vector<Node> nodes;  // in topological order; the first is the input, the last the logits
  std::vector<Parameter> parameters;
  std::vector<Buffer> buffers;
  LossChoice loss = {};
  Joints joints = {};  // of a whole network: none

  const Shape& input_shape() const { return nodes.front().shape; }
  std::int64_t classes() const { return nodes.back().shape.back(); }
  /// Rows of logits of a sample, each with a label of its own: the tokens of a sequence, else 1.
  std::int64_t labels() const { return elements_of(nodes.back().shape) / classes(); }
  std::int64_t parameter_count() const;  // in elements, including frozen ones
};

/// Builds a graph node by node and infers shapes. finish() returns the first error. Names must be
/// unique, every node but the last must be read, and the last must be a vector or a sequence.
class GraphBuilder {
 public:
  GraphBuilder(std::string model, Shape input);

  /// Appends a node that reads the previous node, or `input`. Returns its index.
  int add(std::string name, Operation op);
  int add(std::string name, Operation op, int input);
  /// For operations with two inputs.
  int add(std::string name, Operation op, int first, int second);
  /// Appends a node that reads the previous node with the parameters of node `owner`, which must
  /// have the shapes of its own.
  int add_sharing(std::string name, Operation op, int owner);

  /// Replaces the names of a node's parameters, which otherwise start with the node's.
  void name_parameters(int node, const std::vector<std::string>& names);

  /// bad_request: for example "model cnn: pool1 needs at least 2x2 pixels, got [64,1,1]".
  Result<Graph> finish() &&;

 private:
  int add_node(Node node, int owner = -1);
  void share(Node& node, const std::vector<Parameter>& wanted, int owner);

  Graph graph_;
  std::string problem_;  // the first: "NAME needs ..."
};

struct ImageShape {
  int channels = 1;
  int height = 28;
  int width = 28;
};

}  // namespace dllaunch

#include "bench/gpu/step_costs.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>

#include "trainer/backends/gpu/plan/step_plan.hpp"

namespace dllaunch::gpu {
namespace {

constexpr double single = sizeof(float);

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

/// Returns how many of an axis's `inputs` its `outputs` windows read.
std::int64_t looked_at(std::int64_t inputs, std::int64_t outputs, std::int64_t kernel,
                       std::int64_t stride) {
  return kernel < stride ? std::min(inputs, outputs * kernel) : inputs;
}

bool is_heavy(const Operation& op) {
  return traits_of(op).weighted;
}

/// Visits the passes of a step like GpuExecutable.
class StepWalk {
 public:
  StepWalk(const Graph& graph, const StepKind& kind)
      : graph_(graph),
        kind_(kind),
        plan_(plan_steps(graph, kind.batch)),
        written_(graph.nodes.size()),
        wide_(static_cast<double>(bytes_of(kind.type))) {}

  std::vector<PassCost> all() && {
    take();
    for (std::size_t n = 1; n < graph_.nodes.size(); ++n) forward(n);
    lose();
    for (std::size_t n = graph_.nodes.size() - 1; n > 0; --n) backward(n);
    update();
    return std::move(passes_);
  }

 private:
  double elements(int n) const { return static_cast<double>(plan_.nodes[at(n)].shape.elements()); }
  double bytes(int n) const { return elements(n) * wide_; }
  /// Returns the bytes of node n's first input that it reads: strides may skip some.
  double read_by(std::size_t n) const {
    const Volume& x = plan_.nodes[at(graph_.nodes[n].inputs[0])].shape;
    const Volume& y = plan_.nodes[n].shape;
    const auto [kernel, stride, padding] = window_of(graph_.nodes[n].op);
    const std::int64_t pixels = looked_at(x.depth, y.depth, kernel[0], stride[0]) *
                                looked_at(x.height, y.height, kernel[1], stride[1]) *
                                looked_at(x.width, y.width, kernel[2], stride[2]);
    return static_cast<double>(x.rows * pixels * x.channels) * wide_;
  }
  /// Returns the bytes of the indices that max pooling stores.
  double places(std::size_t n) const {
    const bool chooses = traits_of(graph_.nodes[n].op).stores_argmax;
    return chooses ? elements(static_cast<int>(n)) * sizeof(std::uint16_t) : 0;
  }
  double weights(int parameter) const {
    return static_cast<double>(elements_of(graph_.parameters[at(parameter)].shape));
  }
  bool trains(int parameter) const { return !graph_.parameters[at(parameter)].frozen; }
  bool has_grad(int n) const { return plan_.grads[at(n)].first <= plan_.grads[at(n)].last; }
  /// Returns whether node n's gradient is added to an existing one.
  bool adds(int n) {
    const bool there = written_[at(n)];
    written_[at(n)] = true;
    return there;
  }
  void pass(const std::string& name, double bytes, double operations = 0) {
    passes_.push_back({name, operations, bytes});
  }

  void take() {
    for (const Node& node : graph_.nodes) {
      if (kind_.type == DType::f32 || !is_heavy(node.op)) continue;
      pass(node.name + " weight", weights(node.parameters[0]) * (single + wide_));
    }
    pass("input", elements(0) * single + bytes(0));
  }
  void lose() {
    const int last = static_cast<int>(graph_.nodes.size()) - 1;
    pass("outputs", bytes(last) + elements(last) * single);
    pass("loss", elements(last) * single);
    if (!plan_.nodes.back().trains) return;
    pass("loss backward", elements(last) * single + bytes(last));
    written_.back() = true;
  }
  void update() {
    double learnt = 0;
    for (const Parameter& parameter : graph_.parameters) {
      if (!parameter.frozen) learnt += static_cast<double>(elements_of(parameter.shape));
    }
    // Reads the gradient; reads and writes weights and states.
    pass("update", learnt * single * (1 + 2 * (1 + kind_.states)));
  }

  void forward(std::size_t n);
  void backward(std::size_t n);
  void norm_forward(std::size_t n);
  void norm_backward(std::size_t n);
  void library_forward(std::size_t n);
  void library_backward(std::size_t n);
  double products(std::size_t n) const;
  PassCost scores(std::size_t n, int products) const;

  const Graph& graph_;
  StepKind kind_;
  StepPlan plan_;
  std::vector<bool> written_;
  double wide_;  // bytes of an activation
  std::vector<PassCost> passes_;
};

/// Returns the operations of one pass: each output is a sum over a window of all input channels.
double StepWalk::products(std::size_t n) const {
  const double outputs = elements(static_cast<int>(n));
  const auto channels = static_cast<double>(plan_.nodes[n].shape.channels);
  return 2 * outputs * weights(graph_.nodes[n].parameters[0]) / channels;
}

/// Returns what attention's products cost besides its arrays: of heads, and of [samples, heads,
/// tokens, tokens], where scores are written once and read twice, weights written and read.
PassCost StepWalk::scores(std::size_t n, int products) const {
  const auto* op = std::get_if<Attention>(&graph_.nodes[n].op);
  if (op == nullptr) return {};
  const double outputs = elements(static_cast<int>(n));
  const auto tokens = static_cast<double>(graph_.nodes[n].shape[0]);
  const double all = outputs / static_cast<double>(graph_.nodes[n].shape[1]) * tokens * op->heads;
  return {.operations = 2.0 * products * outputs * tokens,
          .bytes = all * (products / 2) * (3 * single + 2 * wide_)};
}

void StepWalk::library_forward(std::size_t n) {
  const Node& node = graph_.nodes[n];
  const int y = static_cast<int>(n);
  const double factors = read_by(n) + weights(node.parameters[0]) * wide_;
  pass(node.name + " forward", factors + bytes(y), products(n));
  if (node.parameters.size() > 1) pass(node.name + " bias", 2 * bytes(y));
}

void StepWalk::library_backward(std::size_t n) {
  const Node& node = graph_.nodes[n];
  const int x = node.inputs[0];
  const int weight = node.parameters[0];
  const double dy = bytes(static_cast<int>(n));
  const bool dense = std::holds_alternative<Dense>(node.op);
  if (node.parameters.size() > 1 && trains(node.parameters[1])) {
    pass(node.name + " backward bias", dy);
  }
  if (trains(weight)) {
    // A matrix product writes directly to the arena of floats.
    const double result = weights(weight) * (dense ? single : wide_);
    pass(node.name + " backward weights", read_by(n) + dy + result, products(n));
    if (!dense) pass(node.name + " gradient", weights(weight) * (wide_ + single));
  }
  if (!has_grad(x)) return;
  const bool add = adds(x);
  const double factors = dy + weights(weight) * wide_;
  const double result = bytes(x) * (dense && add ? 2 : 1);
  pass(node.name + " backward data", factors + result, products(n));
  if (add && !dense) pass(node.name + " addition", 3 * bytes(x));
}

void StepWalk::norm_forward(std::size_t n) {
  const NodePlan& plan = plan_.nodes[n];
  const std::string& name = graph_.nodes[at(plan.norm)].name;
  const double all = bytes(static_cast<int>(n));
  pass(name + " moments", all);
  pass(name + " forward", all * (plan.other >= 0 ? 3 : 2));
}

void StepWalk::norm_backward(std::size_t n) {
  const NodePlan& plan = plan_.nodes[n];
  const Node& norm = graph_.nodes[at(plan.norm)];
  const double all = bytes(static_cast<int>(n));
  const double read = all * (plan.relu ? 3 : 2);  // dy, x, and y if it determines ReLU's mask
  pass(norm.name + " grad sums", read);
  double written = 0;
  const auto give = [&](int to) {
    if (to >= 0 && has_grad(to)) written += adds(to) ? 2 * all : all;
  };
  give(norm.inputs.front());
  give(plan.other);
  if (written > 0) pass(norm.name + " backward", read + written);
}

void StepWalk::forward(std::size_t n) {
  const Node& node = graph_.nodes[n];
  const NodePlan& plan = plan_.nodes[n];
  if (plan.absorbed) return;
  if (plan.norm >= 0) return norm_forward(n);
  if (is_heavy(node.op)) return library_forward(n);
  const int y = static_cast<int>(n);
  double moved = bytes(y) + places(n) + read_by(n);
  if (node.inputs.size() > 1) moved += bytes(node.inputs[1]);
  const PassCost more = scores(n, 2);
  pass(node.name + " forward", moved + more.bytes, more.operations);
}

void StepWalk::backward(std::size_t n) {
  const Node& node = graph_.nodes[n];
  const NodePlan& plan = plan_.nodes[n];
  if (plan.absorbed || !plan.trains) return;
  if (plan.norm >= 0) return norm_backward(n);
  if (is_heavy(node.op)) return library_backward(n);
  const int y = static_cast<int>(n);
  const double more = places(n) + (traits_of(node.op).backward_reads_y ? bytes(y) : 0);
  for (const int input : node.inputs) {
    if (!has_grad(input)) continue;
    const PassCost again = scores(n, 5);
    pass(node.name + " backward",
         bytes(y) + more + bytes(input) * (adds(input) ? 2 : 1) + again.bytes, again.operations);
  }
}

}  // namespace

std::vector<PassCost> step_costs(const Graph& graph, const StepKind& kind) {
  return StepWalk(graph, kind).all();
}

Floor floor_of(std::span<const PassCost> passes, const Ceilings& ceilings) {
  Floor floor;
  for (const PassCost& pass : passes) {
    const double computing = pass.operations / ceilings.operations_per_s;
    const double moving = pass.bytes / ceilings.bytes_per_s;
    (computing > moving ? floor.computing_s : floor.moving_s) +=
        computing > moving ? computing : moving;
  }
  return floor;
}

}  // namespace dllaunch::gpu

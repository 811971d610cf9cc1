// Dense layers of sequences in float. Weights stay plain, so that nothing is reordered and other
// layers can read them. Of the library's products of the backward pass, dnnl_sgemm is the fastest
// whatever the extents, and it can add to a gradient.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "support/fatal.hpp"
#include "trainer/backends/onednn/layers.hpp"
#include "trainer/backends/onednn/sequences/plain_floats.hpp"

namespace dllaunch::onednn {
namespace {

using dnnl::memory;

/// dW and dx of y = x W; outlives compilation.
struct TokenProducts {
  memory::dim tokens = 0;
  memory::dim features = 0;
  memory::dim units = 0;
  bool input_major = false;
  const BoundParameter* weight = nullptr;
  const BoundParameter* bias = nullptr;  // nullptr: none
  const CallState* call = nullptr;

  void gradients(const memory& x, const memory& dy) const {
    const float beta = call->accumulate ? 1 : 0;
    float* const to = data_of(weight->gradient);
    const float* const a = data_of(input_major ? x : dy);
    const float* const b = data_of(input_major ? dy : x);
    const memory::dim rows = input_major ? features : units;
    const memory::dim columns = input_major ? units : features;
    multiply('T', 'N', {rows, columns, tokens}, {a, rows}, {b, columns}, {to, columns}, beta);
    if (bias != nullptr) sum_columns(data_of(dy), beta, data_of(bias->gradient));
  }

  void backward_data(const memory& dy, const memory& dx) const {
    const memory::dim stride = input_major ? units : features;
    multiply('N', input_major ? 'T' : 'N', {tokens, features, units}, {data_of(dy), units},
             {data_of(weight->weight), stride}, {data_of(dx), features}, 0);
  }

 private:
  struct Extents {
    memory::dim rows;
    memory::dim columns;
    memory::dim inner;
  };
  template <typename T>
  struct Matrix {
    T* data;
    memory::dim stride;
  };

  static void multiply(char of_a, char of_b, const Extents& of, const Matrix<const float>& a,
                       const Matrix<const float>& b, const Matrix<float>& c, float beta) {
    const auto status = dnnl_sgemm(of_a, of_b, of.rows, of.columns, of.inner, 1, a.data, a.stride,
                                   b.data, b.stride, beta, c.data, c.stride);
    if (status != dnnl_success) die("dense layer", "dnnl_sgemm failed");
  }

  void sum_columns(const float* dy, float beta, float* sums) const {
    constexpr memory::dim piece = 64;  // columns
#pragma omp parallel for schedule(static)
    for (memory::dim first = 0; first < units; first += piece) {
      const memory::dim count = std::min(piece, units - first);
      float own[piece] = {};
      for (memory::dim t = 0; t < tokens; ++t) {
        const float* const row = dy + t * units + first;
        for (memory::dim u = 0; u < count; ++u) own[u] += row[u];
      }
      for (memory::dim u = 0; u < count; ++u) {
        sums[first + u] = own[u] + (beta > 0 ? sums[first + u] : 0);
      }
    }
  }
};

class TokenDense final : public Layer {
 public:
  TokenDense(Node node, FusionContext context) : node_(std::move(node)), context_(context) {}

  memory compile_forward(Program& program, std::vector<Step>& steps, const Memories& xs) override {
    const auto& op = std::get<Dense>(node_.op);
    x_ = plain_floats(program, steps, node_.name + " x", xs[0]);
    const memory::dims x = dims_of(x_.get_desc());
    const memory::dim units = op.units;
    const auto plain = op.input_major ? plain_layout({x[1], units}) : plain_layout({units, x[1]});
    *products_ = {.tokens = x[0],
                  .features = x[1],
                  .units = units,
                  .input_major = op.input_major,
                  .weight = node_.shares
                                ? &program.parameters()[index(0)]
                                : &program.bind_parameter(node_.parameters[0], plain, plain),
                  .call = &program.call()};
    const auto layout = plain_layout({x[0], units});
    const memory y =
        context_.keeps_y ? program.allocate_persistent(layout) : program.allocate(layout);
    // The product's view of the parameters, whose memories are passed as they are: [features,
    // units], however it lies, and [1, units].
    const memory::dims strides = op.input_major ? memory::dims{units, 1} : memory::dims{1, x[1]};
    const memory::desc weight({x[1], units}, memory::data_type::f32, strides);
    std::unordered_map<int, memory> arguments{
        {DNNL_ARG_SRC, x_}, {DNNL_ARG_WEIGHTS, products_->weight->weight}, {DNNL_ARG_DST, y}};
    const auto attributes = with_activation(context_);
    dnnl::matmul::primitive_desc desc;
    if (node_.parameters.size() == 2) {
      const auto of_bias = plain_layout({units});
      products_->bias = &program.bind_parameter(node_.parameters[1], of_bias, of_bias);
      arguments.insert({DNNL_ARG_BIAS, products_->bias->weight});
      desc = describe_forward<dnnl::matmul>(program.engine(), attributes, x_.get_desc(), weight,
                                            plain_layout({1, units}), layout);
    } else {
      desc = describe_forward<dnnl::matmul>(program.engine(), attributes, x_.get_desc(), weight,
                                            layout);
    }
    program.add(steps, node_.name + " forward", desc, dnnl::matmul(desc), std::move(arguments));
    return y;
  }

  Memories compile_backward(Program& program, BackwardOfNode& steps, const Memories& dys) override {
    auto& first = steps.parameters;
    steps.adds_gradients = true;
    const memory dy = program.sum(first, node_.name + " dy", dys,
                                  plain_layout({products_->tokens, products_->units}));
    if (!context_.frozen) {
      const memory x = program.recompute(first, x_);
      program.add_loop(first, node_.name + " backward weights", "gemm", {x, dy},
                       [products = products_, x, dy] { products->gradients(x, dy); });
    }
    if (!context_.wants_dx) return {dy};
    const memory dx = program.allocate(x_.get_desc());
    program.add_loop(steps.input, node_.name + " backward data", "gemm", {dy, dx},
                     [products = products_, dy, dx] { products->backward_data(dy, dx); });
    return {dx};
  }

 private:
  std::size_t index(std::size_t which) const {
    return static_cast<std::size_t>(node_.parameters[which]);
  }

  Node node_;
  FusionContext context_;
  memory x_;
  std::shared_ptr<TokenProducts> products_ = std::make_shared<TokenProducts>();
};

}  // namespace

std::unique_ptr<Layer> make_token_dense(const Node& node, const FusionContext& context) {
  return std::make_unique<TokenDense>(node, context);
}

}  // namespace dllaunch::onednn

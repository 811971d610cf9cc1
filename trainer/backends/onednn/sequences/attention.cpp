// Self-attention. A thread computes a head of a sequence in blocks of queries, whose weights never
// leave its cache: the backward pass computes them again instead of reading them.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "support/fatal.hpp"
#include "trainer/backends/onednn/layers.hpp"
#include "trainer/backends/onednn/sequences/row_kernels.hpp"

namespace dllaunch::onednn {
namespace {

using dnnl::memory;

constexpr std::int64_t block = 64;  // queries

constexpr std::int64_t padded(std::int64_t count) {
  return (count + 15) / 16 * 16;
}

/// A matrix in row-major order: its first element, and the elements from row to row.
struct Matrix {
  float* data;
  std::int64_t stride;

  Matrix rows_from(std::int64_t row) const { return {data + row * stride, stride}; }
};

struct Extents {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t inner;
};

/// c = a b + beta c on the calling thread. 'T': the matrix is transposed.
void multiply(char of_a, char of_b, const Extents& of, const Matrix& a, const Matrix& b,
              const Matrix& c, float beta = 0) {
  const auto status = dnnl_sgemm(of_a, of_b, of.rows, of.columns, of.inner, 1, a.data, a.stride,
                                 b.data, b.stride, beta, c.data, c.stride);
  if (status != dnnl_success) die("attention", "dnnl_sgemm failed");
}

/// The weights of one block of queries, and their gradients: [block, tokens], padded.
struct Scratch {
  Matrix p;
  Matrix dp;
};

/// One head of one sequence: [tokens, size] each.
struct HeadOf {
  bool causal;
  std::int64_t tokens;
  std::int64_t size;
  float scale;
  Matrix query;
  Matrix key;
  Matrix value;

  /// Keys that the queries before `end` attend to.
  std::int64_t seen(std::int64_t end) const { return causal ? end : tokens; }

  void weights(std::int64_t first, std::int64_t rows, const Matrix& p) const {
    const std::int64_t keys = seen(first + rows);
    multiply('N', 'T', {rows, keys, size}, query.rows_from(first), key, p);
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto n = static_cast<std::size_t>(seen(first + row + 1));
      row_kernels().softmax(p.rows_from(row).data, n, static_cast<std::size_t>(padded(keys)),
                            scale);
    }
  }

  void forward(const Matrix& y, const Scratch& scratch) const {
    for (std::int64_t first = 0; first < tokens; first += block) {
      const std::int64_t rows = std::min(block, tokens - first);
      weights(first, rows, scratch.p);
      multiply('N', 'N', {rows, size, seen(first + rows)}, scratch.p, value, y.rows_from(first));
    }
  }

  /// From the last block, which writes the gradients of all keys and values; the others add.
  void backward(const Matrix& dy, const HeadOf& gradients, const Scratch& scratch) const {
    const auto& [p, dp] = scratch;
    float beta = 0;
    for (std::int64_t first = (tokens - 1) / block * block; first >= 0; first -= block) {
      const std::int64_t rows = std::min(block, tokens - first);
      const std::int64_t keys = seen(first + rows);
      const Matrix of_block = dy.rows_from(first);
      weights(first, rows, p);
      multiply('T', 'N', {keys, size, rows}, p, of_block, gradients.value, beta);
      multiply('N', 'T', {rows, keys, size}, of_block, value, dp);
      for (std::int64_t row = 0; row < rows; ++row) {
        row_kernels().softmax_backward(p.rows_from(row).data, dp.rows_from(row).data,
                                       static_cast<std::size_t>(padded(keys)), scale);
      }
      multiply('N', 'N', {rows, size, keys}, dp, key, gradients.query.rows_from(first));
      multiply('T', 'N', {keys, size, rows}, dp, query.rows_from(first), gradients.key, beta);
      beta = 1;
    }
  }
};

/// Shapes, and the memory of all threads; outlives compilation.
struct AttentionRun {
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t tokens = 0;
  std::int64_t width = 0;
  bool causal = false;
  memory scratch;  // [threads, 2, block, padded tokens]

  HeadOf head_of(const memory& x, std::int64_t sequence, std::int64_t head) const {
    const std::int64_t size = width / heads;
    auto* const query =
        static_cast<float*>(x.get_data_handle()) + sequence * tokens * 3 * width + head * size;
    return {.causal = causal,
            .tokens = tokens,
            .size = size,
            .scale = 1 / std::sqrt(static_cast<float>(size)),
            .query = {query, 3 * width},
            .key = {query + width, 3 * width},
            .value = {query + 2 * width, 3 * width}};
  }
  Matrix output_of(const memory& y, std::int64_t sequence, std::int64_t head) const {
    auto* const all = static_cast<float*>(y.get_data_handle());
    return {all + sequence * tokens * width + head * (width / heads), width};
  }
  Scratch own_scratch() const {
    const std::int64_t stride = padded(tokens);
    auto* const p =
        static_cast<float*>(scratch.get_data_handle()) + omp_get_thread_num() * 2 * block * stride;
    return {{p, stride}, {p + block * stride, stride}};
  }

  template <typename Function>
  void for_each_head(const Function& function) const {
#pragma omp parallel
    {
      // Padding is never written by a product, but read: it must be finite.
      const Scratch own = own_scratch();
      std::fill_n(own.p.data, 2 * block * own.p.stride, 0.F);
#pragma omp for schedule(static)
      for (std::int64_t i = 0; i < batch * heads; ++i) function(i / heads, i % heads, own);
    }
  }

  void forward(const memory& x, const memory& y) const {
    for_each_head([&](std::int64_t sequence, std::int64_t head, const Scratch& own) {
      head_of(x, sequence, head).forward(output_of(y, sequence, head), own);
    });
  }
  void backward(const memory& x, const memory& dy, const memory& dx) const {
    for_each_head([&](std::int64_t sequence, std::int64_t head, const Scratch& own) {
      head_of(x, sequence, head)
          .backward(output_of(dy, sequence, head), head_of(dx, sequence, head), own);
    });
  }
};

class AttentionLayer final : public Layer {
 public:
  AttentionLayer(Node node, FusionContext context) : node_(std::move(node)), context_(context) {}

  memory compile_forward(Program& program, std::vector<Step>& steps, const Memories& xs) override {
    const auto& op = std::get<Attention>(node_.op);
    x_ = program.reorder_to(steps, node_.name + " x", xs[0],
                            plain_layout(dims_of(xs[0].get_desc())));
    const memory::dim all = dims_of(x_.get_desc())[0];
    *run_ = {.batch = all / node_.shape[0],
             .heads = op.heads,
             .tokens = node_.shape[0],
             .width = node_.shape[1],
             .causal = op.causal,
             .scratch = program.allocate(
                 plain_layout({omp_get_max_threads(), 2 * block, padded(node_.shape[0])}))};
    const memory y = program.allocate(plain_layout({all, node_.shape[1]}));
    program.add_loop(steps, node_.name + " forward", "own", {x_, y, run_->scratch},
                     [run = run_, x = x_, y] { run->forward(x, y); });
    return y;
  }

  Memories compile_backward(Program& program, BackwardOfNode& steps, const Memories& dys) override {
    if (!context_.wants_dx) return {dys[0]};
    const memory::dim all = dims_of(x_.get_desc())[0];
    const memory dy =
        program.sum(steps.input, node_.name + " dy", dys, plain_layout({all, node_.shape[1]}));
    const memory dx = program.allocate(x_.get_desc());
    const memory scratch = program.allocate(run_->scratch.get_desc());
    program.add_loop(steps.input, node_.name + " backward", "own", {x_, dy, dx, scratch},
                     [run = run_, x = x_, dy, dx, scratch] {
                       AttentionRun own = *run;
                       own.scratch = scratch;
                       own.backward(x, dy, dx);
                     });
    return {dx};
  }

 private:
  Node node_;
  FusionContext context_;
  memory x_;
  std::shared_ptr<AttentionRun> run_ = std::make_shared<AttentionRun>();
};

}  // namespace

std::unique_ptr<Layer> make_attention(const Node& node, const FusionContext& context) {
  return std::make_unique<AttentionLayer>(node, context);
}

}  // namespace dllaunch::onednn

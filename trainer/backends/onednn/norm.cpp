// Batch normalisation with our own loops, because oneDNN 2.6 does not fuse as much: they skip
// absent images, add the other branch and apply the ReLU in registers, and compute mean and
// variance in one pass over memory.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <utility>

#include "trainer/backends/channel_moments.hpp"
#include "trainer/backends/onednn/channel_layout.hpp"
#include "trainer/backends/onednn/layers.hpp"
#include "trainer/backends/onednn/norm_kernels.hpp"

namespace dllaunch::onednn {
namespace {

using dnnl::memory;

std::byte* bytes_of(const memory& memory) {
  return static_cast<std::byte*>(memory.get_data_handle());
}

float* floats_of(const memory& memory) {
  return static_cast<float*>(memory.get_data_handle());
}

/// Lives as long as the steps that run it. Arrays are per channel, including padding channels;
/// these have scale and shift 0, so padding stays zero.
class NormRun {
 public:
  NormRun(NormGroup group, Program& program, const memory::desc& layout)
      : group_(std::move(group)),
        op_(std::get<BatchNorm>(group_.norm.op)),
        program_(program),
        layout_(*channel_layout(layout)),
        channels_(static_cast<std::size_t>(group_.norm.shape[0])),
        kernels_(
            norm_kernels(type_of(layout) == memory::data_type::bf16 ? DType::bf16 : DType::f32)),
        mean_(layout_.channels()),
        inv_std_(layout_.channels()),
        scale_(layout_.channels()),
        shift_(layout_.channels()),
        grad_mean_(layout_.channels()),
        proj_scale_(layout_.channels()),
        first_(layout_.rows * layout_.channels()),
        second_(layout_.rows * layout_.channels()) {}

  memory x;
  memory skip;  // empty without an addition
  memory y;

  void forward() {
    if (!program_.call().train) {
      use_running_stats();
    } else if (!program_.call().repeat) {
      measure();
    }
    const float* weight = floats_of(parameter(0).weight);
    const float* bias = floats_of(parameter(1).weight);
    for (std::size_t c = 0; c < channels_; ++c) {
      scale_[c] = inv_std_[c] * weight[c];
      shift_[c] = bias[c];
    }
    normalise(y);
  }

  /// Applies the current statistics.
  void normalise(const memory& to) {
    for_each_piece([&](NormPiece piece, std::size_t at, std::size_t) {
      if (skip) piece.skip = bytes_of(skip) + at;
      piece.y = bytes_of(to) + at;
      kernels_.normalise(piece);
    });
    zero_absent(to);
  }

  /// Whether the backward pass recomputes y from x for the ReLU's mask, so that y need not be kept.
  bool recomputes_y() const { return !group_.add; }
  /// Whether sum() stores the masked dy: if it is a sum of several parts, or if the other branch
  /// needs it. If not, backward() masks it again.
  bool stores_dy(const Memories& parts) const {
    return parts.size() > 1 || (group_.relu && !recomputes_y());
  }

  /// Computes the parameters' gradients over this rank's images, and backward()'s coefficients over
  /// all ranks' images. Writes dy to `masked` if stores_dy().
  void sum(const Memories& parts, const memory& masked) {
    for_each_piece([&](NormPiece piece, std::size_t at, std::size_t sums) {
      for (std::size_t i = 0; i < parts.size(); ++i) piece.parts[i] = bytes_of(parts[i]) + at;
      if (stores_dy(parts)) piece.masked = bytes_of(masked) + at;
      if (!recomputes_y()) piece.y = bytes_of(y) + at;
      kernels_.sum(piece, &first_[sums], &second_[sums]);
    });
    if (stores_dy(parts)) zero_absent(masked);
    float* dweight = floats_of(parameter(0).gradient);
    float* dbias = floats_of(parameter(1).gradient);
    std::vector<double> sums(2 * channels_);  // of dy, then of dy z
    for (std::size_t c = 0; c < channels_; ++c) {
      sums[c] = total(first_, c);
      sums[channels_ + c] = total(second_, c);
      dbias[c] = static_cast<float>(sums[c]);
      dweight[c] = static_cast<float>(sums[channels_ + c]);
    }
    if (program_.sum_over_ranks()) program_.sum_over_ranks()(sums);
    for (std::size_t c = 0; c < channels_ && count_ > 0; ++c) {
      grad_mean_[c] = static_cast<float>(sums[c] / count_);
      proj_scale_[c] = static_cast<float>(sums[channels_ + c] / count_ * inv_std_[c]);
    }
  }

  void backward(const memory& dy, bool stored, const memory& dx) {
    for_each_piece([&](NormPiece piece, std::size_t at, std::size_t) {
      piece.relu = group_.relu && !stored;
      piece.dy = bytes_of(dy) + at;
      piece.dx = bytes_of(dx) + at;
      kernels_.backward(piece);
    });
    zero_absent(dx);
  }

 private:
  const BoundParameter& parameter(std::size_t which) const {
    return program_.parameters()[static_cast<std::size_t>(group_.norm.parameters[which])];
  }
  std::vector<double>& buffer(std::size_t which) {
    return program_.buffers()[static_cast<std::size_t>(group_.norm.buffers[which])];
  }
  std::size_t rows() const { return static_cast<std::size_t>(program_.call().rows); }

  /// Calls run(piece, offset in bytes, index of the piece's first channel in first_ and second_).
  template <typename Run>
  void for_each_piece(const Run& run) {
    const auto pieces = static_cast<std::int64_t>(rows() * layout_.groups);
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < pieces; ++i) {
      const std::size_t row = static_cast<std::size_t>(i) / layout_.groups;
      const std::size_t group = static_cast<std::size_t>(i) % layout_.groups;
      const std::size_t channel = group * layout_.lanes;
      const std::size_t at = row * layout_.row_bytes + group * layout_.group_bytes;
      NormPiece piece{.pixels = layout_.pixels, .lanes = layout_.lanes};
      piece.x = bytes_of(x) + at;
      piece.mean = &mean_[channel];
      piece.inv_std = &inv_std_[channel];
      piece.scale = &scale_[channel];
      piece.shift = &shift_[channel];
      piece.grad_mean = &grad_mean_[channel];
      piece.proj_scale = &proj_scale_[channel];
      piece.relu = group_.relu;
      run(piece, at, row * layout_.channels() + channel);
    }
  }

  /// Sums over the present images in order, so the result does not depend on the number of threads.
  double total(const std::vector<float>& of_rows, std::size_t channel) const {
    double sum = 0;
    for (std::size_t row = 0; row < rows(); ++row) {
      sum += of_rows[row * layout_.channels() + channel];
    }
    return sum;
  }

  /// Returns the moments of this rank's images.
  ChannelMoments own_moments() {
    ChannelMoments own{.count = static_cast<double>(rows() * layout_.pixels),
                       .mean = std::vector<double>(channels_),
                       .squares = std::vector<double>(channels_)};
    if (rows() == 0) return own;
    for_each_piece([&](const NormPiece& piece, std::size_t, std::size_t sums) {
      kernels_.measure(piece, &first_[sums], &second_[sums]);
    });
    const auto images = static_cast<double>(rows());
    const auto pixels = static_cast<double>(layout_.pixels);
    for (std::size_t c = 0; c < channels_; ++c) {
      // Combines images of equal size (Chan, Golub and LeVeque 1983).
      const double mean = total(first_, c) / images;
      double squares = total(second_, c);
      for (std::size_t row = 0; row < rows(); ++row) {
        const double apart = first_[row * layout_.channels() + c] - mean;
        squares += pixels * apart * apart;
      }
      own.mean[c] = mean;
      own.squares[c] = squares;
    }
    return own;
  }

  void measure() {
    ChannelMoments all = own_moments();
    allreduce_moments(all, program_.sum_over_ranks());
    count_ = all.count;
    if (count_ == 0) return;
    for (std::size_t c = 0; c < channels_; ++c) {
      mean_[c] = static_cast<float>(all.mean[c]);
      inv_std_[c] = static_cast<float>(1 / std::sqrt(all.squares[c] / count_ + op_.eps));
      const double unbiased = count_ > 1 ? all.squares[c] / (count_ - 1) : all.squares[c];
      move(buffer(0)[c], all.mean[c]);
      move(buffer(1)[c], unbiased);
    }
    buffer(2)[0] += 1;
  }

  void move(double& running, double towards) const {
    running = static_cast<float>(running + op_.momentum * (towards - running));
  }

  void use_running_stats() {
    for (std::size_t c = 0; c < channels_; ++c) {
      mean_[c] = static_cast<float>(buffer(0)[c]);
      inv_std_[c] = static_cast<float>(1 / std::sqrt(buffer(1)[c] + op_.eps));
    }
  }

  /// Zeroes absent images, as the next layers expect.
  void zero_absent(const memory& memory) const {
    std::memset(bytes_of(memory) + rows() * layout_.row_bytes, 0,
                (layout_.rows - rows()) * layout_.row_bytes);
  }

  NormGroup group_;
  BatchNorm op_;
  Program& program_;
  ChannelLayout layout_;
  std::size_t channels_;
  const NormKernels& kernels_;
  double count_ = 0;  // values per channel in the latest measure(), over all ranks
  std::vector<float> mean_;
  std::vector<float> inv_std_;
  std::vector<float> scale_;
  std::vector<float> shift_;
  std::vector<float> grad_mean_;   // dbias / n
  std::vector<float> proj_scale_;  // dweight / n * inv_std
  std::vector<float> first_;       // [rows, channels]: per image, the mean, or the sum of dy
  std::vector<float> second_;      // the same: sum of squared deviations, or the sum of dy z
};

class Norm final : public Layer {
 public:
  Norm(NormGroup group, const FusionContext& context)
      : group_(std::move(group)), context_(context) {}

  memory compile_forward(Program& program, std::vector<Step>& steps, const Memories& xs) override {
    memory x = xs[0];
    if (!channel_layout(x.get_desc())) {
      x = program.reorder_to(steps, group_.name + " x", x,
                             plain_layout(dims_of(x.get_desc()), type_of(x.get_desc())));
    }
    const auto vector = plain_layout({group_.norm.shape[0]});
    for (const int parameter : group_.norm.parameters) {
      program.bind_parameter(parameter, vector, vector);
    }
    run_ = std::make_shared<NormRun>(group_, program, x.get_desc());
    run_->x = x;
    run_->y = program.allocate(x.get_desc());
    Memories used = {x, run_->y};
    if (group_.add) {
      run_->skip = program.reorder_to(steps, group_.name + " skip", xs[1], x.get_desc());
      used.push_back(run_->skip);
    }
    program.add_loop(steps, group_.name + " forward", "own", used,
                     [run = run_] { run->forward(); });
    // Recomputing halves the memory and leaves y in the cache for its reader; x is read anyway.
    if (run_->recomputes_y()) {
      program.offer_recompute(run_->y,
                              [this, &program](auto& more) { return recompute_y(program, more); });
    }
    return run_->y;
  }

  Memories compile_backward(Program& program, BackwardOfNode& steps, const Memories& dys) override {
    auto& first = steps.parameters;
    const memory::desc layout = run_->x.get_desc();
    Memories parts = {program.reorder_to(first, group_.name + " dy", dys[0], layout)};
    if (dys.size() > 1) {
      const Memories others(dys.begin() + 1, dys.end());
      parts.push_back(program.sum(first, group_.name + " dy", others, layout));
    }
    const bool stores_dy = run_->stores_dy(parts);
    const memory dy = stores_dy ? writable(program, parts, layout) : parts[0];
    Memories used = {run_->x, dy};
    used.insert(used.end(), parts.begin(), parts.end());
    if (group_.relu && !run_->recomputes_y()) used.push_back(run_->y);
    program.add_loop(first, group_.name + " backward weights", "own", used,
                     [run = run_, parts, dy] { run->sum(parts, dy); });
    if (!context_.wants_dx) return {dy, dy};
    // dy itself is the other branch's gradient; without one, dx may overwrite it.
    const bool in_place = !group_.add && !program.is_shared(dy);
    const memory dx = in_place ? dy : program.allocate(layout);
    program.add_loop(steps.input, group_.name + " backward data", "own", {run_->x, dy, dx},
                     [run = run_, dy, stores_dy, dx] { run->backward(dy, stores_dy, dx); });
    return {dx, dy};
  }

 private:
  memory recompute_y(Program& program, std::vector<Step>& steps) const {
    memory y = program.allocate(run_->y.get_desc());
    program.add_loop(steps, group_.name + " recompute", "own", {run_->x, y},
                     [run = run_, y] { run->normalise(y); });
    return y;
  }

  static memory writable(Program& program, const Memories& parts, const memory::desc& layout) {
    const auto own =
        std::ranges::find_if(parts, [&](const memory& part) { return !program.is_shared(part); });
    return own != parts.end() ? *own : program.allocate(layout);
  }

  NormGroup group_;
  FusionContext context_;
  std::shared_ptr<NormRun> run_;
};

}  // namespace

std::unique_ptr<Layer> make_norm(NormGroup group, const FusionContext& context) {
  return std::make_unique<Norm>(std::move(group), context);
}

}  // namespace dllaunch::onednn

// Time of reducing ResNet-50's gradients that the backward pass does not hide:
//   mpirun -np 2 --bind-to core -x OMP_NUM_THREADS=1 build/test/bin/bench_reducer [SIZE BATCH]
// Each rank runs the 53 convolutions of ResNet-50 v1.5 forward and backward (oneDNN, direct, fp32)
// on BATCH images of SIZE x SIZE pixels and passes their gradients, and those of batch norm and the
// dense layer, to the reducer as they become final. Batch norm, ReLU and pooling take no time here:
// a real step is longer. Each round runs steps without reduction, with each bucket size and with
// each compression. Prints medians of five rounds:
//   exposed  time in finish() on the last rank to arrive, which waits for no other
//   within   time in ready() and progress(): on a CPU, the computing thread also reduces
//   share    both, relative to the step
//   waited   time in finish() on the first rank to arrive: includes the others' lateness
//   cost     the step compared with the one without reduction, including noise of the machine
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/opening/communicators.hpp"
#include "runtime/gradients/gradient_reducer.hpp"
#include "trainer/backends/onednn/versions.hpp"

namespace {

using namespace dllaunch;
using dnnl::memory;
using Clock = std::chrono::steady_clock;

constexpr int rounds = 5;
constexpr int steps_a_round = 3;

struct ConvolutionShape {
  int in = 0, out = 0, kernel = 1, stride = 1, size = 0;  // size: of the input, pixels
  int out_size() const { return (size + stride - 1) / stride; }
  double forward_flops(int batch) const {
    return 2.0 * batch * out_size() * out_size() * in * out * kernel * kernel;
  }
};

/// In the order of the forward pass; a block's shortcut comes last.
std::vector<ConvolutionShape> resnet50(int size) {
  std::vector<ConvolutionShape> all = {
      {.in = 3, .out = 64, .kernel = 7, .stride = 2, .size = size}};
  int pixels = (all[0].out_size() + 1) / 2;  // max pooling
  int channels = 64;
  const std::array<int, 4> blocks = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const int width = 64 << stage;
    for (int block = 0; block < blocks[static_cast<std::size_t>(stage)]; ++block) {
      const int stride = block == 0 && stage > 0 ? 2 : 1;
      const ConvolutionShape middle{
          .in = width, .out = width, .kernel = 3, .stride = stride, .size = pixels};
      all.push_back({.in = channels, .out = width, .size = pixels});
      all.push_back(middle);
      all.push_back({.in = width, .out = 4 * width, .size = middle.out_size()});
      if (block == 0) {
        all.push_back({.in = channels, .out = 4 * width, .stride = stride, .size = pixels});
      }
      channels = 4 * width;
      pixels = middle.out_size();
    }
  }
  return all;
}

/// A convolution with its memory; its weight gradient is written to the arena.
class Convolution {
 public:
  Convolution(const dnnl::engine& engine, const ConvolutionShape& shape, int batch)
      : forward_desc_(describe<dnnl::convolution_forward>(engine, shape, batch)),
        data_desc_(backward<dnnl::convolution_backward_data>(engine, shape, batch)),
        weights_desc_(backward<dnnl::convolution_backward_weights>(engine, shape, batch)),
        forward_(forward_desc_),
        data_(data_desc_),
        weights_(weights_desc_) {
    for (const auto& [index, desc] :
         {std::pair(x, forward_desc_.src_desc()), std::pair(w, forward_desc_.weights_desc()),
          std::pair(y, forward_desc_.dst_desc()), std::pair(dx, data_desc_.diff_src_desc()),
          std::pair(dw_in, data_desc_.weights_desc()), std::pair(dy, data_desc_.diff_dst_desc()),
          std::pair(wx, weights_desc_.src_desc()), std::pair(wdy, weights_desc_.diff_dst_desc())}) {
      memory_[index] = filled(engine, desc);
    }
  }

  std::size_t gradient_elements() const {
    return weights_desc_.diff_weights_desc().get_size() / sizeof(float);
  }
  void attach(const dnnl::engine& engine, void* gradient) {
    gradient_ = memory(weights_desc_.diff_weights_desc(), engine, gradient);
  }

  void forward(dnnl::stream& stream) {
    forward_.execute(
        stream,
        {{DNNL_ARG_SRC, memory_[x]}, {DNNL_ARG_WEIGHTS, memory_[w]}, {DNNL_ARG_DST, memory_[y]}});
  }
  void backward_weights(dnnl::stream& stream) {
    weights_.execute(stream, {{DNNL_ARG_SRC, memory_[wx]},
                              {DNNL_ARG_DIFF_DST, memory_[wdy]},
                              {DNNL_ARG_DIFF_WEIGHTS, gradient_}});
  }
  void backward_data(dnnl::stream& stream) {
    data_.execute(stream, {{DNNL_ARG_DIFF_DST, memory_[dy]},
                           {DNNL_ARG_WEIGHTS, memory_[dw_in]},
                           {DNNL_ARG_DIFF_SRC, memory_[dx]}});
  }

 private:
  enum Which : std::size_t { x, w, y, dx, dw_in, dy, wx, wdy, memories };

  static memory::desc any(const std::array<int, 3>& ncs) {
    return {{ncs[0], ncs[1], ncs[2], ncs[2]}, memory::data_type::f32, memory::format_tag::any};
  }
  static memory::desc weights_of(const ConvolutionShape& s) {
    return {{s.out, s.in, s.kernel, s.kernel}, memory::data_type::f32, memory::format_tag::any};
  }
  static memory::dims strides(const ConvolutionShape& s) { return {s.stride, s.stride}; }
  static memory::dims padding(const ConvolutionShape& s) { return {s.kernel / 2, s.kernel / 2}; }

  template <typename Forward>
  static typename Forward::primitive_desc describe(const dnnl::engine& engine,
                                                   const ConvolutionShape& s, int batch) {
    return onednn::describe_forward<Forward>(
        engine, {}, dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct,
        any({batch, s.in, s.size}), weights_of(s), any({batch, s.out, s.out_size()}), strides(s),
        padding(s), padding(s));
  }
  template <typename Backward>
  typename Backward::primitive_desc backward(const dnnl::engine& engine, const ConvolutionShape& s,
                                             int batch) const {
    return onednn::describe_backward<Backward>(
        engine, {}, forward_desc_, dnnl::algorithm::convolution_direct, any({batch, s.in, s.size}),
        weights_of(s), any({batch, s.out, s.out_size()}), strides(s), padding(s), padding(s));
  }
  static memory filled(const dnnl::engine& engine, const memory::desc& desc) {
    memory made(desc, engine);
    std::mt19937 random(1);
    auto* values = static_cast<float*>(made.get_data_handle());
    std::generate_n(values, desc.get_size() / sizeof(float),
                    [&] { return static_cast<float>(random() % 1000) * 1e-5F; });
    return made;
  }

  dnnl::convolution_forward::primitive_desc forward_desc_;
  dnnl::convolution_backward_data::primitive_desc data_desc_;
  dnnl::convolution_backward_weights::primitive_desc weights_desc_;
  dnnl::convolution_forward forward_;
  dnnl::convolution_backward_data data_;
  dnnl::convolution_backward_weights weights_;
  std::array<memory, memories> memory_;
  memory gradient_;
};

/// One rank's network and arena. Slots: the dense layer's weight and bias, then for each
/// convolution, starting from the last, its batch norm's two parameters and its own weight.
class Network {
 public:
  Network(Communicator& communicator, int size, int batch) : stream_(engine_) {
    std::vector<std::size_t> elements = {2048 * 1000, 1000};
    for (const auto& shape : resnet50(size)) {
      convolutions_.emplace_back(engine_, shape, batch);
      flops_ += 3 * shape.forward_flops(batch);
    }
    const auto shapes = resnet50(size);
    for (std::size_t i = shapes.size(); i-- > 0;) {
      const auto channels = static_cast<std::size_t>(shapes[i].out);
      elements.insert(elements.end(), {channels, channels, convolutions_[i].gradient_elements()});
    }
    for (const std::size_t count : elements) parameters_ += count;
    layout_ = lay_out(DType::f32, elements);
    gradients_ = communicator.allocate(layout_.bytes());
    int slot = static_cast<int>(elements.size());
    for (auto& convolution : convolutions_) {
      slot -= 1;
      convolution.attach(engine_, layout_.at(gradients_, slot));
      slot -= 2;
    }
  }

  /// Calls `on_ready` like Executable::backward().
  template <typename OnReady>
  void step(const OnReady& on_ready) {
    for (auto& convolution : convolutions_) convolution.forward(stream_);
    on_ready(0);
    on_ready(1);
    int slot = 2;
    for (std::size_t i = convolutions_.size(); i-- > 0; slot += 3) {
      on_ready(slot);
      on_ready(slot + 1);
      convolutions_[i].backward_weights(stream_);
      on_ready(slot + 2);
      if (i == 0) break;
      convolutions_[i].backward_data(stream_);
      on_ready(-1);
    }
  }

  const ArenaLayout& layout() const { return layout_; }
  std::span<std::byte> gradients() const { return gradients_; }
  std::size_t parameters() const { return parameters_; }
  double flops() const { return flops_; }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_;
  std::vector<Convolution> convolutions_;
  ArenaLayout layout_;
  std::span<std::byte> gradients_;
  std::size_t parameters_ = 0;
  double flops_ = 0;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double over_ranks(Communicator& communicator, double mine, ReduceOp op) {
  communicator.wait(communicator.all_reduce(&mine, 1, DType::f64, op));
  return mine;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Seconds of a step, averaged over the steps of a round.
struct StepTimes {
  double step = 0;  // on the slowest rank
  double exposed = 0;
  double within = 0;
  double waited = 0;
};

/// A way to reduce, given by its buckets; none: no reduction.
struct Contender {
  std::string name = {};
  std::unique_ptr<GradientReducer> reducer = {};
  int buckets = 0;
  std::vector<StepTimes> rounds = {};

  StepTimes step(Communicator& communicator, Network& network) {
    communicator.wait(communicator.barrier());
    const auto start = Clock::now();
    double within_s = 0;
    ReducerStats stats;
    if (reducer) {
      reducer->begin();
      network.step([&](int slot) {
        const auto entered = Clock::now();
        if (slot >= 0) reducer->ready(slot);
        reducer->progress();
        within_s += seconds_since(entered);
      });
      stats = reducer->finish();
      buckets = stats.buckets;
    } else {
      network.step([](int) {});
    }
    return {.step = over_ranks(communicator, seconds_since(start), ReduceOp::max),
            .exposed = over_ranks(communicator, stats.exposed_s, ReduceOp::min),
            .within = over_ranks(communicator, within_s, ReduceOp::max),
            .waited = over_ranks(communicator, stats.exposed_s, ReduceOp::max)};
  }

  void run(Communicator& communicator, Network& network) {
    StepTimes mean;
    for (int i = 0; i < steps_a_round; ++i) {
      const StepTimes one = step(communicator, network);
      mean.step += one.step / steps_a_round;
      mean.exposed += one.exposed / steps_a_round;
      mean.within += one.within / steps_a_round;
      mean.waited += one.waited / steps_a_round;
    }
    rounds.push_back(mean);
  }

  /// Returns the median over rounds of `value`(this round, the same round of `bare`).
  template <typename Value>
  double median_of(const Contender& bare, const Value& value) const {
    std::vector<double> values;
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      values.push_back(value(rounds[i], bare.rounds[i]));
    }
    return median(std::move(values));
  }
};

std::vector<Contender> contenders(Communicator& communicator, const Network& network) {
  std::vector<Contender> all(1);
  const auto add = [&](std::string name, std::size_t mib, const ReducerOptions& options) {
    constexpr std::size_t mebibyte = 1024 * 1024;
    auto buckets = plan_buckets(network.layout(), mib * mebibyte, mebibyte);
    all.push_back(
        {.name = fmt::format("{} MiB{}", mib, name),
         .reducer = std::make_unique<GradientReducer>(
             communicator, network.layout(), network.gradients(), std::move(buckets), options)});
  };
  for (const std::size_t mib : {1, 4, 12, 25, 64}) add("", mib, {});
  add(" bf16", 25, {.compression = Compression::bf16});
  add(" fp16", 25, {.compression = Compression::fp16});
  add(" lag", 25, {.lag = true});
  return all;
}

void print(const Network& network, const std::vector<Contender>& all) {
  const Contender& bare = all[0];
  const double bare_s = bare.median_of(bare, [](auto& own, auto&) { return own.step; });
  fmt::print("{} gradients, {:.1f} GFLOP a step in {:.1f} ms: {:.1f} GFLOP/s a rank\n",
             network.parameters(), network.flops() / 1e9, bare_s * 1e3,
             network.flops() / 1e9 / bare_s);
  fmt::print("buckets of   number   step ms  exposed ms  within ms   share  waited ms    cost\n");
  for (const Contender& each : all) {
    if (!each.reducer) continue;
    const auto ms = [&](double StepTimes::*time) {
      return each.median_of(bare, [&](auto& own, auto&) { return own.*time; }) * 1e3;
    };
    const double share = each.median_of(
        bare, [](auto& own, auto&) { return (own.exposed + own.within) / own.step; });
    const double cost =
        each.median_of(bare, [](auto& own, auto& without) { return own.step / without.step - 1; });
    fmt::print("{:<12} {:>6} {:>9.1f} {:>11.2f} {:>10.2f} {:>5.2f} % {:>10.2f} {:>5.1f} %\n",
               each.name, each.buckets, ms(&StepTimes::step), ms(&StepTimes::exposed),
               ms(&StepTimes::within), share * 100, ms(&StepTimes::waited), cost * 100);
  }
}

int argument(int argc, char** argv, int index, int otherwise) {
  if (index >= argc) return otherwise;
  const std::string_view text = argv[index];
  std::from_chars(text.data(), text.data() + text.size(), otherwise);
  return otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  auto env = read_rank_env(process_environment());
  auto opened = env ? open_communicator("auto", *env)
                    : Result<std::unique_ptr<Communicator>>(std::move(env).error());
  if (!opened) {
    fmt::print(stderr, "{}\n", opened.error().what);
    return 1;
  }
  Communicator& communicator = **opened;
  Network network(communicator, argument(argc, argv, 1, 128), argument(argc, argv, 2, 8));
  auto all = contenders(communicator, network);
  for (Contender& each : all) each.step(communicator, network);  // warm up pages and connections
  for (int round = 0; round < rounds; ++round) {
    for (Contender& each : all) each.run(communicator, network);
  }
  if (communicator.rank() == 0) print(network, all);
  return 0;
}

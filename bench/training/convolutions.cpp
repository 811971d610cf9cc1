// A model's convolutions alone: forward, backward weights, backward data (not for the images), each
// in its preferred layout, without reorders. A lower bound for a step with direct convolutions.
//
//   bench_convolutions MODEL BATCH CHANNELS SIZE THREADS fp32|bf16 table
//   bench_convolutions MODEL BATCH CHANNELS SIZE THREADS fp32|bf16 direct|winograd [COMMANDS]
//
// `table`: milliseconds of each shape, direct and Winograd. The other form reads numbers of steps
// and answers like bench_training; `winograd` uses Winograd if oneDNN has it and it is faster.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <omp.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trainer/backends/onednn/versions.hpp"
#include "trainer/graph/graph.hpp"
#include "trainer/models/models.hpp"

namespace {

using namespace dllaunch;
using dnnl::algorithm;
using dnnl::memory;
using Clock = std::chrono::steady_clock;

struct Case {
  std::int64_t in = 0, out = 0, kernel = 1, stride = 1, padding = 0, size = 0, out_size = 0;
  bool first = false;  // input is the images, which need no gradient
  auto operator<=>(const Case&) const = default;
};

std::map<Case, int> cases_of(const Graph& graph) {
  std::map<Case, int> cases;
  for (const Node& node : graph.nodes) {
    const auto* op = std::get_if<Conv2d>(&node.op);
    if (op == nullptr) continue;
    const int input = node.inputs.front();
    const Shape& x = graph.nodes[static_cast<std::size_t>(input)].shape;
    ++cases[{x[0], op->channels, op->kernel, op->stride, op->padding, x[1], node.shape[1],
             input == 0}];
  }
  return cases;
}

/// A primitive with its memory.
struct Work {
  std::string implementation;
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;

  double run(dnnl::stream& stream) const {
    const auto before = Clock::now();
    primitive.execute(stream, arguments);
    stream.wait();
    return std::chrono::duration<double>(Clock::now() - before).count();
  }
};

constexpr std::array<const char*, 3> directions = {"forward", "weights", "data"};
/// The algorithm's primitive for each direction; nullopt if there is none.
using Ways = std::array<std::optional<Work>, 3>;

memory filled(const dnnl::engine& engine, const memory::desc& layout) {
  memory made(layout, engine);
  auto* bytes = static_cast<char*>(made.get_data_handle());
  std::fill_n(bytes, layout.get_size(), 0);
  const bool bf16 = onednn::type_of(layout) == memory::data_type::bf16;
  for (std::size_t i = 1; i < layout.get_size(); i += bf16 ? 2 : 4) bytes[i + (bf16 ? 0 : 2)] = 60;
  return made;
}

template <typename Primitive, typename Desc>
Work work_of(const dnnl::engine& engine, const Desc& desc,
             const std::vector<std::pair<int, memory::desc>>& layouts) {
  Work work{desc.impl_info_str(), Primitive(desc), {}};
  for (const auto& [index, layout] : layouts) {
    work.arguments.insert({index, filled(engine, layout)});
  }
  return work;
}

/// Runs `make`; oneDNN reports an unsupported primitive by throwing.
template <typename Make>
std::optional<Work> if_there(const Make& make) {
  try {
    return make();
  } catch (const dnnl::error&) {
    return std::nullopt;
  }
}

Ways ways_of(const dnnl::engine& engine, const Case& c, int batch, memory::data_type type,
             algorithm how) {
  using Tag = memory::format_tag;
  const memory::desc x({batch, c.in, c.size, c.size}, type, Tag::any);
  const memory::desc w({c.out, c.in, c.kernel, c.kernel}, type, Tag::any);
  const memory::desc dw({c.out, c.in, c.kernel, c.kernel}, memory::data_type::f32, Tag::any);
  const memory::desc y({batch, c.out, c.out_size, c.out_size}, type, Tag::any);
  const memory::dims stride{c.stride, c.stride};
  const memory::dims padding{c.padding, c.padding};
  using Forward = dnnl::convolution_forward;
  using Weights = dnnl::convolution_backward_weights;
  using Data = dnnl::convolution_backward_data;
  const dnnl::primitive_attr plain;
  const auto forward = [&](algorithm with) {
    return onednn::describe_forward<Forward>(engine, plain, dnnl::prop_kind::forward_training, with,
                                             x, w, y, stride, padding, padding);
  };
  const Forward::primitive_desc hint = forward(algorithm::convolution_direct);
  Ways ways;
  ways[0] = if_there([&] {
    const auto d = forward(how);
    return work_of<Forward>(engine, d,
                            {{DNNL_ARG_SRC, d.src_desc()},
                             {DNNL_ARG_WEIGHTS, d.weights_desc()},
                             {DNNL_ARG_DST, d.dst_desc()}});
  });
  ways[1] = if_there([&] {
    const auto d = onednn::describe_backward<Weights>(engine, plain, hint, how, x, dw, y, stride,
                                                      padding, padding);
    return work_of<Weights>(engine, d,
                            {{DNNL_ARG_SRC, d.src_desc()},
                             {DNNL_ARG_DIFF_DST, d.diff_dst_desc()},
                             {DNNL_ARG_DIFF_WEIGHTS, d.diff_weights_desc()}});
  });
  if (c.first) return ways;
  ways[2] = if_there([&] {
    const auto d = onednn::describe_backward<Data>(engine, plain, hint, how, x, w, y, stride,
                                                   padding, padding);
    return work_of<Data>(engine, d,
                         {{DNNL_ARG_DIFF_DST, d.diff_dst_desc()},
                          {DNNL_ARG_WEIGHTS, d.weights_desc()},
                          {DNNL_ARG_DIFF_SRC, d.diff_src_desc()}});
  });
  return ways;
}

/// CPU time on one thread, which is close to the time on an idle machine.
double median_ms(const Work& work, dnnl::stream& stream) {
  std::vector<double> times;
  for (int i = 0; i < 9; ++i) {
    timespec before{};
    timespec after{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    const double wall_s = work.run(stream);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    const double cpu_s = static_cast<double>(after.tv_sec - before.tv_sec) +
                         static_cast<double>(after.tv_nsec - before.tv_nsec) * 1e-9;
    times.push_back((omp_get_max_threads() == 1 ? cpu_s : wall_s) * 1e3);
  }
  std::sort(times.begin() + 1, times.end());  // the first one warms up
  return times[5];
}

/// A part of a step, and how often it runs.
struct Counted {
  Work work;
  int times = 0;
};

std::vector<Counted> choose(const dnnl::engine& engine, const std::map<Case, int>& cases, int batch,
                            memory::data_type type, bool winograd, bool prints) {
  dnnl::stream stream(engine);
  std::vector<Counted> chosen;
  double sums[2] = {0, 0};
  for (const auto& [c, times] : cases) {
    const Ways direct = ways_of(engine, c, batch, type, algorithm::convolution_direct);
    const Ways other = winograd || prints
                           ? ways_of(engine, c, batch, type, algorithm::convolution_winograd)
                           : Ways();
    for (std::size_t d = 0; d < directions.size(); ++d) {
      if (!direct[d]) continue;
      const double direct_ms = winograd || prints ? median_ms(*direct[d], stream) : 0;
      const double other_ms = other[d] ? median_ms(*other[d], stream) : direct_ms;
      const bool take = other[d] && other_ms < direct_ms;
      chosen.push_back({take && winograd ? *other[d] : *direct[d], times});
      sums[0] += times * direct_ms;
      sums[1] += times * std::min(direct_ms, other_ms);
      if (!prints) continue;
      const double flop =
          2.0 * batch *
          static_cast<double>(c.out_size * c.out_size * c.in * c.out * c.kernel * c.kernel);
      fmt::print("{}x {:4}->{:4} {}x{} stride {} {:3}px {:8} {:7.2f} ms {:4.0f} GFLOP/s {:28}",
                 times, c.in, c.out, c.kernel, c.kernel, c.stride, c.size, directions[d], direct_ms,
                 flop / direct_ms / 1e6, direct[d]->implementation);
      if (other[d]) fmt::print(" {:7.2f} ms {}", other_ms, other[d]->implementation);
      fmt::print("\n");
    }
  }
  if (prints) {
    fmt::print("direct {:.1f} ms, {:.1f} images/s; the faster of both {:.1f} ms, {:.1f} images/s\n",
               sums[0], batch / sums[0] * 1e3, sums[1], batch / sums[1] * 1e3);
  }
  return chosen;
}

void answer(const std::vector<Counted>& all, dnnl::stream& stream, int steps) {
  std::vector<double> seconds;
  const std::clock_t cpu_before = std::clock();
  for (int i = 0; i < steps; ++i) {
    double step = 0;
    for (const auto& [work, times] : all) {
      for (int k = 0; k < times; ++k) step += work.run(stream);
    }
    seconds.push_back(step);
  }
  fmt::print("{{\"step_s\": [{:.6f}], \"cpu_s\": {:.4f}, \"peak_mib\": 0}}\n",
             fmt::join(seconds, ", "),
             static_cast<double>(std::clock() - cpu_before) / CLOCKS_PER_SEC);
  std::fflush(stdout);
}

int run(const std::vector<std::string>& args) {
  const ModelEntry* model = args.size() < 7 ? nullptr : find_model(args[0]);
  if (model == nullptr) {
    fmt::print(stderr,
               "bench_convolutions MODEL BATCH CHANNELS SIZE THREADS fp32|bf16 "
               "table|direct|winograd [COMMANDS]\n");
    return 2;
  }
  const int size = std::stoi(args[3]);
  omp_set_num_threads(std::stoi(args[4]));
  const auto graph = model->build({std::stoi(args[2]), size, size}, 10);
  if (!graph) {
    fmt::print(stderr, "{}\n", graph.error().what);
    return 1;
  }
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const auto type = args[5] == "bf16" ? memory::data_type::bf16 : memory::data_type::f32;
  const auto chosen = choose(engine, cases_of(*graph), std::stoi(args[1]), type,
                             args[6] == "winograd", args[6] == "table");
  if (args[6] == "table") return 0;
  std::ifstream file;
  if (args.size() > 7) file.open(args[7] + ".0");
  std::istream& in = args.size() > 7 ? file : std::cin;
  dnnl::stream stream(engine);
  for (int steps = 0; in >> steps;) answer(chosen, stream, steps);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run({argv + 1, argv + argc});
}

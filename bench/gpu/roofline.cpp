// Lower bound of a training step's time on this GPU: the step's operations and bytes
// (step_costs.hpp) at the measured peak rates. scripts/gpu-check compares it with the actual time.
//
//   bench_roofline [KEY=VALUE]...       keys and defaults: see `defaults` below
//   bench_roofline model=resnet50 size=224 batch=256 precision=bf16
//   bench_roofline ceilings=1e15,3e12   operations and bytes per second of another GPU
//   bench_roofline report=passes        every launch: operations, bytes, and its limit
//   bench_roofline report=kernels       also runs the kernels of the largest normalisation: bytes,
//                                       seconds and bytes per second of each launch
//
// Prints one line of JSON: operations and bytes of a step, the ceilings, the seconds of the bound,
// and its parts limited by computation and by memory.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/gpu/ceilings.hpp"
#include "runtime/gpu/own_gpu.hpp"
#include "trainer/backends/cuda/cublaslt_matmul.hpp"
#include "trainer/backends/gpu/plan/step_plan.hpp"
#include "trainer/models/models.hpp"

namespace {

using namespace dllaunch;

std::map<std::string, std::string> defaults() {
  return {{"model", "resnet50"},    {"batch", "256"},    {"channels", "3"},
          {"size", "224"},          {"classes", "1000"}, {"precision", "bf16"},
          {"ceilings", "measured"}, {"report", "floor"}};
}

/// Prints the error and exits.
[[noreturn]] void stop(const std::string& why) {
  fmt::print(stderr, "bench_roofline: {}\n", why);
  std::exit(1);
}

template <typename T>
T value_or_stop(Result<T> result) {
  if (!result) stop(result.error().what);
  return *std::move(result);
}

template <typename T>
T number(const std::string& text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [read, failed] = std::from_chars(text.data(), end, value);
  if (failed != std::errc{} || read != end || !(value > 0)) stop("no number above 0: " + text);
  return value;
}

gpu::Numerics numerics_of(const std::string& precision) {
  if (precision == "bf16") return {.type = DType::bf16};
  if (precision == "fp16") return {.type = DType::f16};
  if (precision == "fp32" || precision == "tf32") return {.tf32 = precision == "tf32"};
  stop("there is no precision " + precision);
}

void take_gpu() {
  const auto environment = process_environment();
  const RankEnv rank = value_or_stop(read_rank_env(environment));
  value_or_stop(take_own_gpu(read_gpu_wish(rank, environment)));
}

gpu::Ceilings measured(const gpu::Numerics& numerics) {
  take_gpu();
  const auto handle = std::make_shared<cublaslt::Handle>();
  value_or_stop(handle->open());
  return value_or_stop(gpu::measure_ceilings(
      [&](const gpu::MatmulShape& shape) { return cublaslt::make_matmul(handle, shape); },
      numerics));
}

gpu::Ceilings ceilings_of(const std::string& asked, const gpu::Numerics& numerics) {
  if (asked == "measured") return measured(numerics);
  const std::size_t comma = std::min(asked.find(','), asked.size() - 1);
  return {.operations_per_s = number<double>(asked.substr(0, comma)),
          .bytes_per_s = number<double>(asked.substr(comma + 1))};
}

/// Of the normalisation with the most activations.
void report_kernels(const Graph& graph, int batch, DType type) {
  const gpu::StepPlan plan = gpu::plan_steps(graph, batch);
  gpu::Volume largest;
  for (const gpu::NodePlan& node : plan.nodes) {
    if (node.norm >= 0 && node.shape.elements() > largest.elements()) largest = node.shape;
  }
  if (largest.rows == 0) stop("report=kernels is for models with batch normalisations");
  take_gpu();
  const std::int64_t pixels = largest.rows * largest.pixels();
  for (const gpu::KernelRate& rate :
       value_or_stop(gpu::measure_kernels(type, pixels, largest.channels))) {
    fmt::print("{:9.3f} us {:.3e} bytes {:8.1f} GB/s {}\n", 1e6 * rate.seconds, rate.bytes,
               1e-9 * rate.bytes / rate.seconds, rate.name);
  }
}

int run(int argc, char** argv) {
  auto options = defaults();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = std::min(word.find('='), word.size());
    const auto found = options.find(word.substr(0, equals));
    if (found == options.end() || equals + 1 >= word.size()) stop("no such option: " + word);
    found->second = word.substr(equals + 1);
  }
  const auto whole = [&](const char* key) { return number<int>(options.at(key)); };
  const ModelEntry* model = find_model(options.at("model"));
  if (model == nullptr) stop("there is no model " + options.at("model"));
  const int size = whole("size");
  const Graph graph =
      value_or_stop(model->build({whole("channels"), size, size}, whole("classes")));
  const gpu::Numerics numerics = numerics_of(options.at("precision"));
  const auto passes = gpu::step_costs(graph, {.batch = whole("batch"), .type = numerics.type});
  const gpu::Ceilings ceilings = ceilings_of(options.at("ceilings"), numerics);
  if (options.at("report") == "kernels") report_kernels(graph, whole("batch"), numerics.type);
  double operations = 0;
  double bytes = 0;
  for (const gpu::PassCost& pass : passes) {
    operations += pass.operations;
    bytes += pass.bytes;
    if (options.at("report") != "passes") continue;
    const gpu::Floor of = gpu::floor_of({&pass, 1}, ceilings);
    fmt::print("{:9.3f} us {} {:.3e} {:.3e} {}\n", 1e6 * of.seconds(),
               of.computing_s > 0 ? "computes" : "moves   ", pass.operations, pass.bytes,
               pass.name);
  }
  const gpu::Floor floor = gpu::floor_of(passes, ceilings);
  fmt::print(
      "{{\"floor_s\": {:.6e}, \"computing_s\": {:.6e}, \"moving_s\": {:.6e}, \"operations\": "
      "{:.6e}, "
      "\"bytes\": {:.6e}, \"operations_per_s\": {:.4e}, \"bytes_per_s\": {:.4e}}}\n",
      floor.seconds(), floor.computing_s, floor.moving_s, operations, bytes,
      ceilings.operations_per_s, ceilings.bytes_per_s);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv);
}

#include "runtime/allreduce/allreduce_bench.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <span>
#include <vector>

namespace dllaunch {
namespace {

constexpr int repetitions = 5;

void reduce(Communicator& communicator, std::span<float> data) {
  communicator.wait(communicator.all_reduce(data.data(), data.size(), DType::f32, ReduceOp::sum));
}

double slowest(Communicator& communicator, double value) {
  communicator.wait(communicator.all_reduce(&value, 1, DType::f64, ReduceOp::max));
  return value;
}

/// Small integers that differ by rank and position: their sums are exact, and a misplaced byte is
/// detected.
float value_of(int rank, std::size_t i) {
  return static_cast<float>((static_cast<std::size_t>(rank) * 7 + i * 3) % 31);
}

bool is_correct(Communicator& communicator, std::span<float> data) {
  std::vector<float> own(data.size());
  for (std::size_t i = 0; i < own.size(); ++i) own[i] = value_of(communicator.rank(), i);
  communicator.copy(data.data(), own.data(), data.size_bytes());
  reduce(communicator, data);
  communicator.copy(own.data(), data.data(), data.size_bytes());
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    float sum = 0;
    for (int rank = 0; rank < communicator.size(); ++rank) sum += value_of(rank, i);
    wrong += own[i] == sum ? 0 : 1;
  }
  communicator.wait(communicator.all_reduce(&wrong, 1, DType::i64, ReduceOp::max));
  return wrong == 0;
}

AllReduceRow measure(Communicator& communicator, std::span<float> data, int iterations) {
  const std::vector<float> zeros(data.size());  // stays finite however often it is summed
  communicator.copy(data.data(), zeros.data(), data.size_bytes());
  reduce(communicator, data);  // warm-up: page faults and connections
  double best_us = std::numeric_limits<double>::infinity();
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    communicator.wait(communicator.barrier());
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < iterations; ++i) reduce(communicator, data);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    best_us = std::min(best_us, slowest(communicator, took.count() / iterations));
  }
  const int ranks = communicator.size();
  const double algbw = static_cast<double>(data.size_bytes()) / best_us / 1e3;
  return {.communicator = std::string(communicator.name()),
          .ranks = ranks,
          .bytes = data.size_bytes(),
          .us = best_us,
          .algbw_gbs = algbw,
          .busbw_gbs = algbw * 2 * (ranks - 1) / ranks,
          .correct = is_correct(communicator, data)};
}

}  // namespace

void measure_all_reduce(Communicator& communicator, const AllReduceBench& bench,
                        const std::function<void(const AllReduceRow&)>& tell) {
  const auto memory = communicator.allocate(bench.max_bytes);
  auto* const data = reinterpret_cast<float*>(memory.data());
  for (std::size_t bytes = bench.min_bytes; bytes <= bench.max_bytes; bytes *= 2) {
    tell(measure(communicator, {data, bytes / sizeof(float)}, bench.iterations));
  }
}

std::string all_reduce_table_head() {
  return fmt::format("{:>12} {:>12} {:>10} {:>12} {:>10} {:>10}  {}\n", "bytes", "elements", "type",
                     "us", "GB/s", "bus GB/s", "");
}

std::string to_table_line(const AllReduceRow& row) {
  return fmt::format("{:>12} {:>12} {:>10} {:>12.2f} {:>10.3f} {:>10.3f}  {}\n", row.bytes,
                     row.bytes / sizeof(float), "f32", row.us, row.algbw_gbs, row.busbw_gbs,
                     row.projected ? "projected"
                     : row.correct ? "correct"
                                   : "WRONG");
}

std::string to_json(const AllReduceRow& row) {
  std::string_view correct = row.correct ? "true" : "false";
  if (row.projected) correct = R"(null, "projected": true)";
  return fmt::format(
      R"({{"backend": "{}", "ranks": {}, "bytes": {}, "us": {:.4f}, "algbw_gbs": {:.6f}, )"
      R"("busbw_gbs": {:.6f}, "correct": {}}})",
      row.communicator, row.ranks, row.bytes, row.us, row.algbw_gbs, row.busbw_gbs, correct);
}

}  // namespace dllaunch

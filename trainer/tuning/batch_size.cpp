#include "trainer/tuning/batch_size.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "runtime/communicators/solo/solo.hpp"
#include "trainer/data/loader.hpp"
#include "trainer/session/agreement.hpp"
#include "trainer/session/compiled_model.hpp"
#include "trainer/tuning/memory_budget.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;

double mib(std::int64_t bytes) {
  return static_cast<double>(bytes) / (1024 * 1024);
}

/// Bytes of weights and gradients.
std::int64_t least_bytes(const Session& session) {
  return 2 * session.graph.parameter_count() * std::int64_t{sizeof(float)};
}

struct Surroundings {
  std::int64_t resident_before = 0;  // bytes of this process
  std::int64_t gpu_margin = 0;       // bytes
  bool on_device = true;             // where a GPU computes, it holds the parameters
};

/// Has the GPUs' communicator connect, so that its buffers are there when a trial is measured.
void connect(Communicator& communicator) {
  if (communicator.memory() != MemorySpace::gpu) return;
  constexpr std::size_t bytes = std::size_t{1} << 20;  // takes the algorithm of a bucket
  const auto memory = communicator.allocate(bytes);
  communicator.wait(
      communicator.all_reduce(memory.data(), bytes / sizeof(float), DType::f32, ReduceOp::sum));
}

/// Trains a few steps with batches of `images`; times the last one.
Result<BatchTrial> try_batch(const Session& session, int images, const Surroundings& around) {
  TrainConfig config = session.config;
  config.batch_size = images;
  auto compiled = compile_model(config, session.graph, session.threads);
  if (!compiled) return std::move(compiled).error();
  const auto alone = stand_in_for(session.shape.ranks);
  Executable& executable = *compiled->executable;
  ParameterArenas arenas(executable, *alone, *find_optimizer(config.optimizer),
                         config.optimizer_options, arena_options(config, around.on_device));
  arenas.initialise(session.graph, config.seed);
  LoaderOptions options = loader_options(session, Split::train);
  options.destination = destination_of(&executable);
  options.batch_size = images;
  // The last one is timed. In the second a GPU captures its graph.
  const std::size_t steps = executable.device_arenas() != nullptr ? 3 : 2;
  Loader loader(*session.dataset, session.normalization, {},
                std::vector<Slice>(steps, Slice{.begin = 0, .count = images}), options);
  BatchTrial trial{.images = images};
  for (std::size_t i = 0; i < steps; ++i) {
    const auto start = Clock::now();
    auto batch = loader.next();
    if (!batch && loader.out_of_memory()) throw std::bad_alloc();
    if (!batch) return std::move(batch).error();
    executable.forward(*batch, Phase::train);
    executable.backward(1.0 / images, /*accumulate=*/false, [](int) {});
    arenas.update({.lr = config.optimizer_options.lr, .step = static_cast<std::int64_t>(i) + 1});
    arenas.wait_for_weights();
    trial.images_per_s = images / std::chrono::duration<double>(Clock::now() - start).count();
  }
  // The allocations may have reused freed memory.
  trial.bytes = std::max(resident_bytes() - around.resident_before, least_bytes(session));
  if (const DeviceArenas* const device = executable.device_arenas(); device != nullptr) {
    const auto free = static_cast<std::int64_t>(device->free_bytes());
    trial.gpu_short = std::max<std::int64_t>(around.gpu_margin - free, 0);
  }
  // The snapshot of a checkpoint needs a copy of weights and state.
  trial.bytes += static_cast<std::int64_t>(arenas.layout().bytes() + arenas.state_bytes());
  return trial;
}

/// Returns nullopt on a failed allocation: the batch does not fit.
std::optional<Result<BatchTrial>> try_if_it_fits(const Session& session, int images,
                                                 const Surroundings& around) {
  try {
    return try_batch(session, images, around);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

template <std::size_t n>
void largest_of_ranks(std::array<double, n>& values, Communicator& communicator) {
  communicator.wait(communicator.all_reduce(values.data(), n, DType::f64, ReduceOp::max));
}

std::string too_large(int images, double bytes) {
  return fmt::format("{} would take {:.0f} MiB", images, bytes / (1024 * 1024));
}

/// `worst` of the ranks: whether it was refused memory, bytes, seconds, bytes short of the margin.
std::string why_too_large(int images, const std::array<double, 4>& worst, std::int64_t margin) {
  if (worst[0] > 0) return fmt::format("{} were refused memory", images);
  if (worst[3] == 0) return too_large(images, worst[1]);
  return fmt::format("{} would leave less than {:.0f} MiB of GPU memory free", images, mib(margin));
}

}  // namespace

std::optional<std::int64_t> predict_bytes(const std::vector<BatchTrial>& trials, int images) {
  if (trials.size() < 2) return std::nullopt;
  const BatchTrial& before = trials[trials.size() - 2];
  const BatchTrial& last = trials.back();
  const double an_image = static_cast<double>(last.bytes - before.bytes) /
                          static_cast<double>(last.images - before.images);
  return last.bytes + static_cast<std::int64_t>(std::max(an_image, 0.0) * (images - last.images));
}

std::vector<std::string> batch_table(const std::vector<BatchTrial>& trials, std::int64_t budget,
                                     int chosen, const std::string& why_not_more) {
  std::vector<std::string> lines{fmt::format("batch_size: auto, {:.0f} MiB per rank", mib(budget)),
                                 fmt::format("{:>8} {:>10} {:>10}", "images", "MiB", "images/s")};
  double fastest = 0;
  for (const auto& trial : trials) {
    lines.push_back(fmt::format("{:>8} {:>10.0f} {:>10.0f}", trial.images, mib(trial.bytes),
                                trial.images_per_s));
    if (trial.images <= chosen) fastest = std::max(fastest, trial.images_per_s);
  }
  lines.push_back(fmt::format("batch_size {}: {}", chosen, why_not_more));
  constexpr double as_fast = 0.95;
  const auto smallest = std::ranges::find_if(
      trials, [&](const auto& trial) { return trial.images_per_s >= as_fast * fastest; });
  if (smallest != trials.end() && smallest->images < chosen) {
    lines.push_back(fmt::format("batch_size {} is as fast within 5 %", smallest->images));
  }
  return lines;
}

Result<std::optional<int>> find_batch_size(const Session& session, const BatchSearch& search,
                                           Communicator& communicator,
                                           const PrepareOptions& options) {
  const std::int64_t images = session.dataset->size(Split::train);
  const std::int64_t others = std::int64_t{session.shape.ranks} * session.shape.accumulate;
  constexpr std::int64_t most_ever = 1 << 20;
  const auto most = static_cast<int>(std::clamp<std::int64_t>(images / others, 1, most_ever));
  connect(communicator);
  const bool gpus_reduce = communicator.memory() == MemorySpace::gpu;
  const Surroundings around{.resident_before = resident_bytes(),
                            .gpu_margin = gpu_margin(gpus_reduce),
                            .on_device = gpus_reduce || session.shape.ranks == 1};
  std::array<double, 1> refused_budget{-static_cast<double>(search.budget)};
  largest_of_ranks(refused_budget, communicator);
  const double budget = -refused_budget[0];  // the minimum over ranks

  std::vector<BatchTrial> trials;
  std::string why = "an epoch has no more images for each rank";
  int chosen = 0;
  for (int size = 1; size <= most; size *= 2) {
    std::array<double, 2> expected{
        static_cast<double>(predict_bytes(trials, size).value_or(least_bytes(session))),
        options.stop_requested() ? 1.0 : 0.0};
    largest_of_ranks(expected, communicator);
    if (expected[1] > 0) return std::optional<int>();
    if (expected[0] > budget) {
      why = too_large(size, expected[0]);
      break;
    }
    auto tried = try_if_it_fits(session, size, around);
    std::optional<Error> error;
    if (tried && !*tried) error = std::move(*tried).error();
    if (auto agreed = agree(communicator, std::move(error))) return *std::move(agreed);
    const BatchTrial trial =
        tried ? **tried : BatchTrial{.images = size, .bytes = around.resident_before};
    std::array<double, 4> worst{tried ? 0.0 : 1.0, static_cast<double>(trial.bytes),
                                tried ? size / trial.images_per_s : 0.0,
                                static_cast<double>(trial.gpu_short)};
    largest_of_ranks(worst, communicator);
    if (worst[0] > 0 || worst[1] > budget || worst[3] > 0) {
      why = why_too_large(size, worst, around.gpu_margin);
      break;
    }
    chosen = size;
    trials.push_back({.images = size,
                      .bytes = static_cast<std::int64_t>(worst[1]),
                      .images_per_s = size / worst[2]});
    if (2 * worst[2] > search.longest_step_s) {
      why = fmt::format("a step of {} would take {:.0f} s", 2 * size, 2 * worst[2]);
      break;
    }
  }
  if (chosen == 0) {
    return Error{ErrorKind::unsatisfiable,
                 fmt::format("batch_size: auto: not even one image fits into {:.0f} MiB: {}",
                             budget / (1024 * 1024), why),
                 "ask for more memory, fewer ranks per node, or a smaller dataset.image_size"};
  }
  if (communicator.rank() == 0) {
    for (const auto& line : batch_table(trials, static_cast<std::int64_t>(budget), chosen, why)) {
      options.say(line);
    }
  }
  return std::optional<int>(chosen);
}

}  // namespace dllaunch

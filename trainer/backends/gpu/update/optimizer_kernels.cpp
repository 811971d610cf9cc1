#include "trainer/backends/gpu/update/optimizer_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/kernels/launch.hpp"
#include "trainer/optimizers/adam_moments.hpp"

namespace dllaunch::gpu {
namespace {

constexpr std::int64_t parts = 256;  // sums of each parameter

constexpr std::array names = {"sgd",      "adam", "adamw", "rmsprop",       "adagrad",
                              "adadelta", "lars", "lamb",  "rmsprop-warmup"};

float narrow(double x) {
  return static_cast<float>(x);
}

AdamStep<float> adam(const OptimizerOptions& options, const StepInfo& now, const ArenaElements& of,
                     double l2, double shrink) {
  const BiasCorrection correction(options, now.step);
  return {of,
          narrow(options.betas[0]),
          narrow(options.betas[1]),
          narrow(1 - options.betas[0]),
          narrow(1 - options.betas[1]),
          narrow(now.lr / correction.first),
          narrow(std::sqrt(correction.second)),
          eps_of<float>(options),
          narrow(l2),
          narrow(shrink)};
}

RmspropStep<float> rmsprop(const OptimizerOptions& options, const StepInfo& now,
                           const ArenaElements& of) {
  float* const average = options.momentum != 0 ? of.third : of.second;
  return {of,
          options.momentum != 0 ? of.second : nullptr,
          options.centered ? average : nullptr,
          narrow(now.lr),
          narrow(options.alpha),
          narrow(1 - options.alpha),
          eps_of<float>(options),
          narrow(options.weight_decay),
          narrow(options.momentum)};
}

ArenaElements elements_of_part(const ArenaPart& part) {
  const auto state = [&](std::size_t i) {
    return i < part.states.size() ? static_cast<float*>(part.states[i]) : nullptr;
  };
  return {static_cast<float*>(part.weights), static_cast<float*>(part.gradients), state(0),
          state(1), state(2)};
}

RmspropWarmupStep<float> rmsprop_warmup(const OptimizerOptions& options, const StepInfo& now,
                                        const ArenaElements& of) {
  const double past = (now.epoch - options.center_epoch) / options.period_epochs;
  const double share = std::clamp(past < 0 ? std::exp(2 * past) / 2 : 0.5 + past, 0.0, 1.0);
  const double rest = now.lr > 0 ? (1 - share) * options.rmsprop_lr / now.lr : 0;
  return {of,
          narrow(now.lr),
          narrow(share),
          narrow(rest),
          narrow(options.momentum),
          narrow(options.alpha),
          narrow(1 - options.alpha),
          eps_of<float>(options),
          narrow(options.weight_decay)};
}

}  // namespace

bool GpuOptimizer::has(const OptimizerEntry& optimizer) {
  return std::ranges::find(names, optimizer.name) != names.end();
}

GpuOptimizer::GpuOptimizer(const OptimizerEntry& optimizer, const OptimizerOptions& options,
                           const ArenaLayout& layout, const std::vector<bool>& one_dimensional,
                           GpuStream stream, StepClock& clock)
    : optimizer_(optimizer),
      options_(options),
      starts_(layout.offset.begin(), layout.offset.end()),
      one_dimensional_(one_dimensional),
      stream_(stream),
      clock_(clock) {
  starts_.push_back(static_cast<std::int64_t>(layout.total));
  found_ = memory_.add(sizeof(int));
  if (optimizer.measure == nullptr) {
    allocate();
    return;
  }
  const std::size_t slots = layout.offset.size();
  offsets_ = memory_.add(starts_.size() * sizeof(std::int64_t));
  factors_ = memory_.add(slots * sizeof(float));
  decays_ = memory_.add(slots * sizeof(float));
  sums_ = memory_.add(slots * static_cast<std::size_t>(2 * parts) * sizeof(double));
  squares_ = memory_.add(2 * slots * sizeof(double));
  allocate();
  check(gpu_copy(memory_.at<std::int64_t>(offsets_), starts_.data(), memory_.bytes(offsets_)),
        "copy");
  std::vector<float> decays;
  decays.reserve(one_dimensional.size());
  for (const bool flat : one_dimensional) {
    decays.push_back(flat ? 0 : narrow(options.weight_decay));
  }
  send(decays_, decays);
}

void GpuOptimizer::allocate() {
  const std::size_t bytes = memory_.place();
  if (memory_.allocate() == gpu_success) return;
  throw OutOfGpuMemory(fmt::format("no {} bytes of the GPU for the optimiser", bytes));
}

bool GpuOptimizer::multiply_gradients(const ArenaPart& part, float by) {
  clock_.update_begins();
  auto* const found = memory_.at<int>(found_);
  check(gpu_clear_later(found, sizeof(int), stream_), "clear");
  launch(stream_, static_cast<std::int64_t>(part.elements),
         MultiplyGradients{static_cast<float*>(part.gradients), by, found});
  clock_.update_ended();  // unless one follows: fp16 leaves steps out
  int here = 0;
  check(gpu_copy_later(&here, found, sizeof(int), stream_), "copy");
  check(gpu_synchronise(stream_), "gradients");
  return here == 0;
}

void GpuOptimizer::send(int piece, std::span<const float> values) const {
  check(gpu_copy_later(memory_.at<float>(piece), values.data(), values.size_bytes(), stream_),
        "copy");
  check(gpu_synchronise(stream_), "copy");
}

SlotTable GpuOptimizer::slots_from(std::size_t first) const {
  return {memory_.at<std::int64_t>(offsets_), static_cast<std::int64_t>(one_dimensional_.size()),
          static_cast<std::int64_t>(first)};
}

/// The slots that a part has something of: from the first to before the second.
std::pair<std::size_t, std::size_t> GpuOptimizer::slots_within(const ArenaPart& part) const {
  const auto first = static_cast<std::int64_t>(part.first);
  const auto end = static_cast<std::int64_t>(part.first + part.elements);
  const auto begin = std::upper_bound(starts_.begin(), starts_.end() - 1, first);
  const auto behind = std::lower_bound(starts_.begin(), starts_.end() - 1, end);
  const auto index = [this](auto at) { return static_cast<std::size_t>(at - starts_.begin()); };
  return {begin == starts_.begin() ? 0 : index(begin) - 1, index(behind)};
}

void GpuOptimizer::measure(const StepInfo& now, const ArenaPart& part, std::span<SquareSums> sums) {
  clock_.update_begins();
  const ArenaElements of = elements_of_part(part);
  const auto elements = static_cast<std::int64_t>(part.elements);
  const SlotTable table = slots_from(part.first);
  if (optimizer_.directs) {
    const BiasCorrection correction(options_, now.step);
    launch(stream_, elements,
           LambDirect<float>{of, table, memory_.at<float>(decays_), narrow(options_.betas[0]),
                             narrow(options_.betas[1]), narrow(1 - options_.betas[0]),
                             narrow(1 - options_.betas[1]), narrow(1 / correction.first),
                             narrow(1 / correction.second), eps_of<float>(options_)});
  }
  const auto [begin, end] = slots_within(part);
  const auto slots = static_cast<std::int64_t>(end - begin);
  auto* const parted = memory_.at<double>(sums_);
  auto* const joined = memory_.at<double>(squares_);
  launch(stream_, slots * parts,
         SquareParts<double>{of.weights, of.gradients, elements, table,
                             static_cast<std::int64_t>(begin), parts, parted});
  launch(stream_, 2 * slots, JoinSquares<double>{parted, parts, joined});
  std::vector<double> here(2 * (end - begin));
  check(gpu_copy_later(here.data(), joined, here.size() * sizeof(double), stream_), "norms");
  check(gpu_synchronise(stream_), "norms");
  for (std::size_t slot = begin; slot < end; ++slot) {
    sums[slot].weights += here[2 * (slot - begin)];
    sums[slot].gradients += here[2 * (slot - begin) + 1];
  }
}

void GpuOptimizer::update(const StepInfo& now, const ArenaPart& part,
                          std::span<const SquareSums> sums) {
  clock_.update_begins();
  if (optimizer_.measure != nullptr) {
    update_by_norms(now, part, sums);
  } else {
    update_by_elements(now, part);
  }
  clock_.update_ended();
}

void GpuOptimizer::update_by_elements(const StepInfo& now, const ArenaPart& part) {
  const ArenaElements of = elements_of_part(part);
  const auto each = [&](const auto& body) {
    launch(stream_, static_cast<std::int64_t>(part.elements), body);
  };
  const float eps = eps_of<float>(options_);
  const float decay = narrow(options_.weight_decay);
  if (optimizer_.name == "sgd") {
    each(SgdStep<float>{of, narrow(now.lr), narrow(options_.momentum), decay, options_.nesterov});
  } else if (optimizer_.name == "adam") {
    each(adam(options_, now, of, options_.weight_decay, /*shrink=*/1));
  } else if (optimizer_.name == "adamw") {
    each(adam(options_, now, of, /*l2=*/0, 1 - now.lr * options_.weight_decay));
  } else if (optimizer_.name == "rmsprop") {
    each(rmsprop(options_, now, of));
  } else if (optimizer_.name == "adagrad") {
    const double lr = now.lr / (1 + static_cast<double>(now.step - 1) * options_.lr_decay);
    each(AdagradStep<float>{of, narrow(lr), eps, decay});
  } else if (optimizer_.name == "adadelta") {
    each(AdadeltaStep<float>{of, narrow(now.lr), narrow(options_.rho), narrow(1 - options_.rho),
                             eps, decay});
  } else {
    each(rmsprop_warmup(options_, now, of));
  }
}

void GpuOptimizer::update_by_norms(const StepInfo& now, const ArenaPart& part,
                                   std::span<const SquareSums> sums) {
  const bool lamb = optimizer_.name == "lamb";
  const bool inside = options_.lr_in_momentum;
  std::vector<float> rates;
  for (std::size_t slot = 0; slot < one_dimensional_.size(); ++slot) {
    const double w = std::sqrt(sums[slot].weights);
    const double g = std::sqrt(sums[slot].gradients);
    double ratio = 1;
    if (!one_dimensional_[slot] && w > 0 && g > 0) {
      ratio = lamb ? w / g : options_.trust_coefficient * (w / (g + options_.weight_decay * w));
    }
    rates.push_back(narrow(lamb || inside ? now.lr * ratio : ratio));
  }
  send(factors_, rates);
  const ArenaElements of = elements_of_part(part);
  const auto elements = static_cast<std::int64_t>(part.elements);
  const SlotTable table = slots_from(part.first);
  const auto* const factors = memory_.at<float>(factors_);
  if (lamb) return launch(stream_, elements, LambStep<float>{of, table, factors});
  const bool corrected = options_.momentum_correction && now.previous_lr > 0;
  const double kept =
      corrected ? options_.momentum * (now.lr / now.previous_lr) : options_.momentum;
  launch(stream_, elements,
         LarsStep<float>{of, table, factors, memory_.at<float>(decays_),
                         narrow(inside ? 1 : now.lr), narrow(kept)});
}

}  // namespace dllaunch::gpu

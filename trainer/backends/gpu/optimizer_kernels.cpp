#include "trainer/backends/gpu/optimizer_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "trainer/backends/gpu/check.hpp"
#include "trainer/backends/gpu/launch.hpp"
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
                           std::span<const std::size_t> elements,
                           const std::vector<bool>& one_dimensional)
    : optimizer_(optimizer), options_(options), one_dimensional_(one_dimensional) {
  std::vector<std::int64_t> offsets = {0};
  for (const std::size_t more : elements) {
    offsets.push_back(offsets.back() + static_cast<std::int64_t>(more));
  }
  elements_ = offsets.back();
  if (optimizer.measure == nullptr) return;
  const std::size_t slots = elements.size();
  offsets_ = memory_.add(offsets.size() * sizeof(std::int64_t));
  factors_ = memory_.add(slots * sizeof(float));
  decays_ = memory_.add(slots * sizeof(float));
  sums_ = memory_.add(slots * static_cast<std::size_t>(2 * parts) * sizeof(double));
  norms_ = memory_.add(2 * slots * sizeof(double));
  const std::size_t bytes = memory_.place();
  if (memory_.allocate() != gpu_success) {
    throw OutOfGpuMemory(fmt::format("no {} bytes of the GPU for the optimiser", bytes));
  }
  check(gpu_copy(memory_.at<std::int64_t>(offsets_), offsets.data(), memory_.bytes(offsets_)),
        "copy");
  std::vector<float> decays;
  for (const bool flat : one_dimensional) {
    decays.push_back(flat ? 0 : narrow(options.weight_decay));
  }
  send(nullptr, decays_, decays);
}

void GpuOptimizer::send(GpuStream stream, int piece, std::span<const float> values) const {
  check(gpu_copy_later(memory_.at<float>(piece), values.data(), values.size_bytes(), stream),
        "copy");
  check(gpu_synchronise(stream), "copy");
}

void GpuOptimizer::step(GpuStream stream, const StepInfo& now, float* weights, float* gradients,
                        std::span<float* const> states) {
  const auto state = [&](std::size_t i) { return i < states.size() ? states[i] : nullptr; };
  const ArenaElements of{weights, gradients, state(0), state(1), state(2)};
  const auto each = [&](const auto& body) { launch(stream, elements_, body); };
  const float eps = eps_of<float>(options_);
  const float decay = narrow(options_.weight_decay);
  if (optimizer_.measure != nullptr) return step_with_norms(stream, now, of);
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

std::vector<double> GpuOptimizer::norms(GpuStream stream, const ArenaElements& of) {
  const auto slots = static_cast<std::int64_t>(one_dimensional_.size());
  const SlotTable table{memory_.at<std::int64_t>(offsets_), slots};
  auto* const sums = memory_.at<double>(sums_);
  auto* const joined = memory_.at<double>(norms_);
  launch(stream, slots * parts, SquareParts<double>{of.weights, of.gradients, table, parts, sums});
  launch(stream, 2 * slots, JoinSquares<double>{sums, parts, joined});
  std::vector<double> here(static_cast<std::size_t>(2 * slots));
  check(gpu_copy_later(here.data(), joined, memory_.bytes(norms_), stream), "copy of norms");
  check(gpu_synchronise(stream), "norms");
  return here;
}

void GpuOptimizer::step_with_norms(GpuStream stream, const StepInfo& now, const ArenaElements& of) {
  const bool lamb = optimizer_.name == "lamb";
  const auto slots = static_cast<std::int64_t>(one_dimensional_.size());
  const SlotTable table{memory_.at<std::int64_t>(offsets_), slots};
  const auto* const decays = memory_.at<float>(decays_);
  auto* const factors = memory_.at<float>(factors_);
  if (lamb) {
    const BiasCorrection correction(options_, now.step);
    launch(stream, elements_,
           LambDirect<float>{of, table, decays, narrow(options_.betas[0]),
                             narrow(options_.betas[1]), narrow(1 - options_.betas[0]),
                             narrow(1 - options_.betas[1]), narrow(1 / correction.first),
                             narrow(1 / correction.second), eps_of<float>(options_)});
  }
  const std::vector<double> both = norms(stream, of);
  const bool inside = options_.lr_in_momentum;
  std::vector<float> rates;
  for (std::size_t slot = 0; slot < one_dimensional_.size(); ++slot) {
    const double w = both[2 * slot];
    const double g = both[2 * slot + 1];
    double ratio = 1;
    if (!one_dimensional_[slot] && w > 0 && g > 0) {
      ratio = lamb ? w / g : options_.trust_coefficient * (w / (g + options_.weight_decay * w));
    }
    rates.push_back(narrow(lamb || inside ? now.lr * ratio : ratio));
  }
  send(stream, factors_, rates);
  if (lamb) return launch(stream, elements_, LambStep<float>{of, table, factors});
  const bool corrected = options_.momentum_correction && now.previous_lr > 0;
  const double kept =
      corrected ? options_.momentum * (now.lr / now.previous_lr) : options_.momentum;
  launch(stream, elements_,
         LarsStep<float>{of, table, factors, decays, narrow(inside ? 1 : now.lr), narrow(kept)});
}

}  // namespace dllaunch::gpu

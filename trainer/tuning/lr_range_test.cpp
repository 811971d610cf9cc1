#include "trainer/tuning/lr_range_test.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "runtime/gradients/gradient_reducer.hpp"
#include "support/counted.hpp"
#include "trainer/data/loader.hpp"
#include "trainer/graph/dropout.hpp"
#include "trainer/session/agreement.hpp"
#include "trainer/session/loss_scaling.hpp"

namespace dllaunch {
namespace {

/// Steps through the data set's images, epoch after epoch.
class Trials {
 public:
  Trials(Session& session, Communicator& communicator)
      : session_(session),
        communicator_(communicator),
        images_(session.dataset->size(Split::train)),
        reducer_(communicator, session.arenas->layout(), session.arenas->gradients(),
                 session.arenas->plan(bucket_bytes(session.config.runtime)),
                 {.overlap = false, .scatter = session.arenas->sharded()}),
        scaling_(session.config.precision, scale_, *session.arenas, communicator) {}

  /// Returns the loss before the step.
  Result<double> step(double rate, int number);

 private:
  Result<double> run_slices(double scale, std::size_t slices, int number);

  Session& session_;
  Communicator& communicator_;
  std::int64_t images_;
  GradientReducer reducer_;
  LossScale scale_;
  LossScaling scaling_;
  std::optional<Loader> loader_;
  std::int64_t epoch_ = 0;
  std::int64_t position_ = 0;
};

/// Returns this rank's part of the loss, summed over images.
Result<double> Trials::run_slices(double scale, std::size_t slices, int number) {
  double loss = 0;
  std::optional<Error> error;
  for (std::size_t i = 0; i < slices; ++i) {
    Batch batch;  // stays empty after a read error: other ranks may wait in a layer's collective
    if (auto loaded = loader_->next()) {
      batch = *loaded;
    } else {
      error = std::move(loaded).error();
    }
    batch.random = batch_key({session_.config.seed, number, communicator_.rank(), i});
    loss += session_.executable->forward(batch, Phase::train).loss_sum;
    session_.executable->backward(scale * scaling_.factor(), /*accumulate=*/i > 0, [](int) {});
  }
  if (error) return *std::move(error);
  return loss;
}

Result<double> Trials::step(double rate, int number) {
  if (!loader_) {
    loader_.emplace(*session_.dataset, session_.normalization,
                    epoch_order(session_.config.seed, epoch_, images_),
                    deal_epoch(images_, session_.shape, 0, communicator_.rank()),
                    loader_options(session_, Split::train));
  }
  const std::int64_t count = step_images(images_, session_.shape, position_);
  const auto slices = deal_step(images_, session_.shape, position_, communicator_.rank()).size();
  const auto own_loss = run_slices(1.0 / static_cast<double>(count), slices, number);
  std::optional<Error> error;
  if (!own_loss) error = own_loss.error();
  if (auto agreed = agree(communicator_, std::move(error))) return *std::move(agreed);
  double loss = *own_loss;
  communicator_.wait(communicator_.all_reduce(&loss, 1, DType::f64, ReduceOp::sum));
  reducer_.begin();
  const auto all = static_cast<int>(session_.executable->slots().size());
  for (int slot = 0; slot < all; ++slot) reducer_.ready(slot);
  reducer_.finish();
  if (std::isfinite(loss) && scaling_.take_back()) {
    session_.arenas->update({.lr = rate, .step = number + 1, .previous_lr = rate});
  }
  position_ += count;
  if (position_ == images_) {
    position_ = 0;
    epoch_ += 1;
    loader_.reset();
  }
  return loss / static_cast<double>(count);
}

double two_digits(double value) {
  return std::stod(fmt::format("{:.1e}", value));
}

/// Logs one line every ten seconds.
class Progress {
 public:
  Progress(int steps, const Say& say) : steps_(steps), say_(say) {}
  void tell(int done, double rate, double loss) {
    constexpr std::chrono::seconds interval(10);
    if (Clock::now() - told_ < interval) return;
    told_ = Clock::now();
    say_(fmt::format("optimizer.lr: auto, step {} of {}: rate {:.1e}, loss {}", done, steps_, rate,
                     four_decimals(loss)));
  }

 private:
  using Clock = std::chrono::steady_clock;
  int steps_;
  const Say& say_;
  Clock::time_point told_ = Clock::now();
};

bool asked_to_stop(Communicator& communicator, const PrepareOptions& options) {
  double ranks = options.stop_requested() ? 1 : 0;
  communicator.wait(communicator.all_reduce(&ranks, 1, DType::f64, ReduceOp::sum));
  return ranks > 0;
}

std::size_t lowest_of(const std::vector<RateTrial>& trials) {
  const auto lowest = std::ranges::min_element(trials, {}, &RateTrial::smoothed);
  return static_cast<std::size_t>(lowest - trials.begin());
}

/// Rates grow by a constant factor, so differences of losses are slopes over the log of the rate.
std::size_t steepest_of(const std::vector<RateTrial>& trials) {
  std::size_t steepest = 0;
  double fall = 0;
  for (std::size_t i = 1; i + 1 < trials.size(); ++i) {
    const double here = trials[i - 1].smoothed - trials[i + 1].smoothed;
    if (here <= fall) continue;
    fall = here;
    steepest = i;
  }
  return steepest;
}

}  // namespace

double test_rate(const LrRangeTest& test, int step) {
  const double way = static_cast<double>(step) / (test.steps - 1);
  return test.lowest_rate * std::pow(test.highest_rate / test.lowest_rate, way);
}

bool add_trial(std::vector<RateTrial>& trials, double rate, double loss) {
  if (!std::isfinite(loss)) return false;
  constexpr double kept = 0.9;
  constexpr double too_high = 4;
  // Initialised as if all earlier losses had equalled the first.
  const double smoothed = trials.empty() ? loss : kept * trials.back().smoothed + (1 - kept) * loss;
  trials.push_back({.rate = rate, .loss = loss, .smoothed = smoothed});
  return smoothed <= too_high * trials[lowest_of(trials)].smoothed;
}

std::optional<double> choose_rate(const std::vector<RateTrial>& trials) {
  if (trials.empty()) return std::nullopt;
  constexpr double fallen = 0.99;
  const RateTrial& lowest = trials[lowest_of(trials)];
  if (!(lowest.smoothed < fallen * trials.front().smoothed)) return std::nullopt;
  constexpr double below_it = 10;
  return two_digits(std::min(lowest.rate / below_it, trials[steepest_of(trials)].rate));
}

std::vector<std::string> rate_table(const std::vector<RateTrial>& trials, double chosen) {
  std::vector<std::string> lines{"optimizer.lr: auto, steps with rising rates",
                                 fmt::format("{:>10} {:>10} {:>10}", "rate", "loss", "smoothed")};
  constexpr std::size_t shown = 15;
  const std::size_t lowest = lowest_of(trials);
  const std::size_t steepest = steepest_of(trials);
  const std::size_t every = (trials.size() + shown - 1) / shown;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (i % every != 0 && i != lowest && i != steepest && i + 1 != trials.size()) continue;
    lines.push_back(fmt::format("{:>10.1e} {:>10} {:>10}{}", trials[i].rate,
                                four_decimals(trials[i].loss), four_decimals(trials[i].smoothed),
                                i == lowest     ? "  lowest"
                                : i == steepest ? "  falls fastest"
                                                : ""));
  }
  lines.push_back(fmt::format("optimizer.lr {:g}", chosen));
  return lines;
}

Result<std::optional<double>> find_rate(Session& session, const LrRangeTest& test,
                                        Communicator& communicator, const PrepareOptions& options) {
  const bool speaks = communicator.rank() == 0;
  Trials steps(session, communicator);
  Progress progress(test.steps, options.say);
  std::vector<RateTrial> trials;
  for (int i = 0; i < test.steps; ++i) {
    if (asked_to_stop(communicator, options)) return std::optional<double>();
    const double rate = test_rate(test, i);
    auto loss = steps.step(rate, i);
    if (!loss) return std::move(loss).error();
    if (speaks) progress.tell(i + 1, rate, *loss);
    if (!add_trial(trials, rate, *loss)) break;
  }
  const auto chosen = choose_rate(trials);
  if (!chosen) {
    Error error{ErrorKind::unsatisfiable,
                fmt::format("optimizer.lr: auto found no rate from {:g} to {:g} that makes the "
                            "loss fall",
                            test.lowest_rate, test.highest_rate),
                "set optimizer.lr; if no rate helps, look at the labels and the normalisation"};
    return speaks ? error : Error{error.kind, "", ""};
  }
  if (speaks) {
    for (const auto& line : rate_table(trials, *chosen)) options.say(line);
  }
  return chosen;
}

}  // namespace dllaunch

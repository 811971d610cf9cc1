#include "trainer/reports/stragglers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>

#include "trainer/reports/peak_memory.hpp"

namespace dllaunch {
namespace {

constexpr double least_share = 0.05;  // of the epoch
constexpr double most_deviations = 5;
constexpr double most_errors = 4;
constexpr double fewest_steps = 8;
constexpr double deviation_of_mad = 1.4826;  // for a normal distribution

constexpr std::array causes = {Lateness::data, Lateness::compute, Lateness::between};

double seconds_of(const RankSeconds& rank, Lateness cause) {
  switch (cause) {
    case Lateness::data:
      return rank.data;
    case Lateness::compute:
      return rank.compute();
    case Lateness::between:
      return rank.between;
  }
  return 0;
}

double lower_median(std::vector<double> values) {
  const auto middle = values.begin() + (std::ssize(values) - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Calls take(stage, ranks of it).
template <typename Take>
void each_stage(std::span<const int> stages, std::size_t ranks, Take take) {
  std::map<int, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < ranks; ++i) members[stages.empty() ? 0 : stages[i]].push_back(i);
  for (const auto& [stage, of_stage] : members) take(stage, of_stage);
}

std::vector<RankSeconds> chosen(std::span<const RankSeconds> ranks,
                                const std::vector<std::size_t>& which) {
  std::vector<RankSeconds> found;
  for (const std::size_t rank : which) found.push_back(ranks[rank]);
  return found;
}

template <typename Value>
double median_of(std::span<const RankSeconds> ranks, Value value) {
  std::vector<double> values;
  values.reserve(ranks.size());
  for (const RankSeconds& rank : ranks) values.push_back(value(rank));
  return lower_median(std::move(values));
}

/// Returns the standard error of a sum over independent steps.
double error_of(const RankSeconds& rank, Lateness cause) {
  const double sum = seconds_of(rank, cause);
  const double squares = rank.squares[static_cast<std::size_t>(cause)];
  return std::sqrt(std::max(0.0, squares - sum * sum / rank.steps));
}

RankPhase slowest_phase(const RankSeconds& rank, std::span<const RankSeconds> ranks) {
  const auto excess = [&](double RankSeconds::*part) {
    return rank.*part - median_of(ranks, [&](const RankSeconds& each) { return each.*part; });
  };
  const double forward = excess(&RankSeconds::forward);
  const double backward = excess(&RankSeconds::backward);
  const double update = excess(&RankSeconds::update);
  if (update > std::max(forward, backward)) return RankPhase::update;
  return forward > backward ? RankPhase::forward : RankPhase::backward;
}

/// Returns the stragglers with this cause.
std::vector<Straggler> late_by(Lateness cause, std::span<const RankSeconds> ranks) {
  const auto seconds = [&](const RankSeconds& rank) { return seconds_of(rank, cause); };
  const double median = median_of(ranks, seconds);
  const double deviation = deviation_of_mad * median_of(ranks, [&](const auto& rank) {
                             return std::abs(seconds(rank) - median);
                           });
  const double error = median_of(ranks, [&](const auto& rank) { return error_of(rank, cause); });
  const double epoch = median_of(ranks, [](const auto& rank) { return rank.total(); });
  std::vector<Straggler> found;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const double excess = seconds(ranks[i]) - median;
    const double noise = std::hypot(error, error_of(ranks[i], cause));
    if (excess <= least_share * epoch || excess <= most_deviations * deviation ||
        excess <= most_errors * noise) {
      continue;
    }
    found.push_back({.rank = static_cast<int>(i),
                     .cause = cause,
                     .phase = slowest_phase(ranks[i], ranks),
                     .seconds = seconds(ranks[i]),
                     .median = median,
                     .delayed = ranks[i].delayed});
  }
  return found;
}

double lost(const Straggler& straggler) {
  return straggler.seconds - straggler.median;
}

/// The stragglers of ranks that do the same. `rank` is the index among them.
std::vector<Straggler> find_among_equals(std::span<const RankSeconds> ranks) {
  std::vector<Straggler> found;
  for (const Lateness cause : causes) {
    for (const Straggler& late : late_by(cause, ranks)) {
      const auto known = std::ranges::find(found, late.rank, &Straggler::rank);
      if (known == found.end()) {
        found.push_back(late);
      } else if (lost(late) > lost(*known)) {
        *known = late;
      }
    }
  }
  return found;
}

std::string slow_stage_line(const SlowStage& slow) {
  const std::string others = slow.stages == 2 ? fmt::format("time of stage {}", 2 - slow.stage)
                                              : "mean time of the other stages";
  return fmt::format(
      "stage {} of {} computes {:.2f} x the {}: the others wait {:.0f} % of the epoch for it; "
      "runtime.pipeline.cut moves work to them",
      slow.stage + 1, slow.stages, slow.ratio, others, 100 * slow.waiting);
}

std::string what_it_does(const Straggler& straggler, double epoch) {
  const auto percent = [&](double seconds) { return 100 * seconds / epoch; };
  switch (straggler.cause) {
    case Lateness::data:
      return fmt::format("waits for data {:.0f} % of the epoch (median {:.0f} %)",
                         percent(straggler.seconds), percent(straggler.median));
    case Lateness::compute:
      return fmt::format("computes {:.2f} x the median ({})", straggler.seconds / straggler.median,
                         to_string(straggler.phase));
    case Lateness::between:
      return fmt::format("spends {:.0f} % of the epoch between steps (median {:.0f} %)",
                         percent(straggler.seconds), percent(straggler.median));
  }
  return "";
}

constexpr std::size_t longest_host = 64;

std::vector<int> gather_stages(Communicator& communicator, int stage) {
  std::vector<int> stages(static_cast<std::size_t>(communicator.size()));
  stages[static_cast<std::size_t>(communicator.rank())] = stage;
  communicator.wait(communicator.all_gather(stages.data(), sizeof(int), DType::u8));
  return stages;
}

/// Collective. On rank 0: the hosts of all ranks.
std::vector<std::string> gather_hosts(Communicator& communicator, std::string_view host) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const auto own = static_cast<std::size_t>(communicator.rank());
  std::vector<char> names(ranks * longest_host);
  host.copy(names.data() + own * longest_host, longest_host - 1);
  communicator.wait(communicator.all_gather(names.data(), longest_host, DType::u8));
  std::vector<std::string> hosts;
  for (std::size_t i = 0; own == 0 && i < ranks; ++i) {
    hosts.emplace_back(names.data() + i * longest_host);
  }
  return hosts;
}

}  // namespace

std::string_view to_string(Lateness cause) {
  switch (cause) {
    case Lateness::data:
      return "data";
    case Lateness::compute:
      return "compute";
    case Lateness::between:
      return "between";
  }
  return "";
}

std::vector<Straggler> find_stragglers(std::span<const RankSeconds> ranks,
                                       std::span<const int> groups) {
  std::vector<Straggler> found;
  if (ranks.size() < 2 || ranks[0].steps < fewest_steps) return found;
  each_stage(groups, ranks.size(), [&](int, const std::vector<std::size_t>& members) {
    const auto same = chosen(ranks, members);
    for (Straggler late : find_among_equals(same)) {
      late.rank = static_cast<int>(members[static_cast<std::size_t>(late.rank)]);
      found.push_back(late);
    }
  });
  std::ranges::sort(found, std::greater(), lost);
  return found;
}

std::optional<SlowStage> find_slow_stage(std::span<const RankSeconds> ranks,
                                         std::span<const int> stages) {
  if (ranks.empty() || ranks[0].steps < fewest_steps) return std::nullopt;
  std::vector<double> computing;  // by stage
  each_stage(stages, ranks.size(), [&](int, const std::vector<std::size_t>& members) {
    const auto same = chosen(ranks, members);
    computing.push_back(median_of(same, [](const auto& rank) { return rank.compute(); }));
  });
  if (computing.size() < 2) return std::nullopt;
  const auto slowest = std::ranges::max_element(computing);
  const double others = (std::reduce(computing.begin(), computing.end()) - *slowest) /
                        static_cast<double>(computing.size() - 1);
  const double epoch = median_of(ranks, [](const auto& rank) { return rank.total(); });
  const SlowStage found{.stage = static_cast<int>(slowest - computing.begin()),
                        .stages = static_cast<int>(computing.size()),
                        .ratio = *slowest / others,
                        .waiting = (*slowest - others) / epoch};
  return found.waiting > least_share ? std::optional(found) : std::nullopt;
}

std::vector<std::string> straggler_lines(const EpochRanks& epoch, std::size_t most) {
  std::vector<std::string> lines;
  if (epoch.slow_stage) lines.push_back(slow_stage_line(*epoch.slow_stage));
  const auto& all = epoch.stragglers;
  if (all.empty()) return lines;
  const double seconds = median_of(epoch.ranks, [](const auto& rank) { return rank.total(); });
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) {
    lines.push_back(
        fmt::format("rank {} on {}: {}; others waited up to {:.0f} % of the epoch for it",
                    all[i].rank, epoch.hosts[static_cast<std::size_t>(all[i].rank)],
                    what_it_does(all[i], seconds), 100 * all[i].delayed / seconds));
  }
  if (all.size() > most) {
    lines.push_back(
        fmt::format("{} more ranks are late: see `ranks` in events.jsonl", all.size() - most));
  }
  return lines;
}

StragglerWatch::StragglerWatch(Communicator& communicator, Activity& activity,
                               std::string_view host, int stage)
    : communicator_(communicator),
      activity_(activity),
      hosts_(gather_hosts(communicator, host)),
      stages_(gather_stages(communicator, stage)),
      stage_(static_cast<std::size_t>(stage)) {}

void StragglerWatch::begin_epoch() {
  epoch_ = {};
  exposed_ = 0;
  activity_.take_seconds();
}

void StragglerWatch::begin_exchange() {
  constexpr double none = std::numeric_limits<double>::infinity();
  const auto stages = static_cast<std::size_t>(*std::ranges::max_element(stages_)) + 1;
  extremes_.assign(stages, {none, none});
  extremes_[stage_] = {exposed_, -exposed_};
  exchange_ = communicator_.all_reduce(extremes_.data(), 2 * stages, DType::f64, ReduceOp::min);
}

void StragglerWatch::end_exchange() {
  communicator_.wait(exchange_);
  exchange_ = {};
  // Whichever stage comes last, for all other ranks it is a wait for others. Being late within a
  // stage is what a rank can be blamed for.
  const double least = std::ranges::min(extremes_, {}, &Extremes::least).least;
  epoch_.communication += least;
  epoch_.waiting += exposed_ - least;
  const Extremes& same = extremes_[stage_];
  if (exposed_ == same.least) epoch_.delayed += -same.negated_most - same.least;
  exposed_ = 0;
}

void StragglerWatch::end_step() {
  const auto seconds = activity_.take_seconds();
  const auto in = [&](RankPhase phase) { return seconds[static_cast<std::size_t>(phase)]; };
  const RankSeconds step{.steps = 1,
                         .data = in(RankPhase::data),
                         .forward = in(RankPhase::forward),
                         .backward = in(RankPhase::backward),
                         .update = in(RankPhase::update),
                         .between = in(RankPhase::between),
                         .pipeline = in(RankPhase::pipeline)};
  epoch_.steps += step.steps;
  epoch_.data += step.data;
  epoch_.forward += step.forward;
  epoch_.backward += step.backward;
  epoch_.update += step.update;
  epoch_.between += step.between;
  epoch_.pipeline += step.pipeline;
  for (const Lateness cause : causes) {
    const double part = seconds_of(step, cause);
    epoch_.squares[static_cast<std::size_t>(cause)] += part * part;
  }
  exposed_ = in(RankPhase::reduce);
}

EpochRanks StragglerWatch::end_epoch() {
  begin_exchange();
  end_exchange();
  epoch_.peak_memory_bytes = peak_memory_bytes().value_or(0);
  const auto ranks = static_cast<std::size_t>(communicator_.size());
  std::vector<RankSeconds> all(ranks);
  all[static_cast<std::size_t>(communicator_.rank())] = epoch_;
  communicator_.wait(
      communicator_.all_gather(all.data(), sizeof(RankSeconds) / sizeof(double), DType::f64));
  if (communicator_.rank() != 0) return {};
  auto stragglers = find_stragglers(all, stages_);
  auto slow_stage = find_slow_stage(all, stages_);
  return {.ranks = std::move(all),
          .hosts = hosts_,
          .stragglers = std::move(stragglers),
          .stages = stages_,
          .slow_stage = slow_stage};
}

}  // namespace dllaunch

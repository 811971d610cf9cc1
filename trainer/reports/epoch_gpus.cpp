#include "trainer/reports/epoch_gpus.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "support/json.hpp"

namespace dllaunch {
namespace {

using Known = std::optional<double>;

constexpr std::size_t most_rows = 8;
constexpr double most_slowed = 0.05;  // share of an epoch that is not worth a warning
constexpr double longest_silence_s = 30;

Known most_of(const OverTime& values) {
  return values.readings > 0 ? Known(values.most) : std::nullopt;
}
Known least_of(const OverTime& values) {
  return values.readings > 0 ? Known(values.least) : std::nullopt;
}
/// Returns nullopt for 0, the initial value of a maximum.
Known if_any(double value) {
  return value > 0 ? Known(value) : std::nullopt;
}
/// Of a single reading no energy is known.
Known energy_of(const GpuUse& use) {
  return use.power.seconds > 0 ? Known(use.power.sum) : std::nullopt;
}

struct GpuColumn {
  const char* name;
  Known (*of)(const GpuUse&);
};
constexpr GpuColumn gpu_columns[] = {
    {"utilisation", [](const GpuUse& use) { return use.utilisation.mean(); }},
    {"memory_bytes", [](const GpuUse& use) { return most_of(use.memory); }},
    {"power_w", [](const GpuUse& use) { return use.power.mean(); }},
    {"sm_clock_mhz", [](const GpuUse& use) { return use.clock.mean(); }},
    {"lowest_clock_mhz", [](const GpuUse& use) { return least_of(use.loaded_clock); }},
    {"temperature_c", [](const GpuUse& use) { return if_any(use.temperature); }},
    {"throttled", [](const GpuUse& use) { return use.slowed_share(); }},
    {"idle_between_steps", [](const GpuUse& use) { return use.idle_share(); }},
    {"exposed_ms", [](const GpuUse& use) { return use.exposed_ms(); }}};
constexpr GpuColumn row_columns[] = {
    {"most_power_w", [](const GpuUse& use) { return most_of(use.power); }},
    {"power_limit_w", [](const GpuUse& use) { return if_any(use.power_limit); }},
    {"energy_j", energy_of},
    {"most_utilisation", [](const GpuUse& use) { return most_of(use.utilisation); }},
    {"memory_total_bytes", [](const GpuUse& use) { return if_any(use.memory_total); }},
    {"most_clock_mhz", [](const GpuUse& use) { return if_any(use.most_clock); }}};

Json milli(Known value) {
  constexpr double digits = 1e3;
  return value ? Json(std::round(*value * digits) / digits) : Json();
}

/// Returns the ranks with a GPU.
std::vector<std::size_t> ranks_on_gpus(const EpochGpus& gpus) {
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < gpus.ranks.size(); ++i) {
    if (!gpus.pci[i].empty()) ranks.push_back(i);
  }
  return ranks;
}

/// Returns one rank per GPU, the first one: sums count a shared GPU once.
std::vector<std::size_t> one_rank_a_gpu(const EpochGpus& gpus) {
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<std::size_t> ranks;
  for (const std::size_t i : ranks_on_gpus(gpus)) {
    if (seen.emplace(gpus.hosts[i], gpus.pci[i]).second) ranks.push_back(i);
  }
  return ranks;
}

/// Returns the known values, sorted.
std::vector<double> values_of(const EpochGpus& gpus,
                              const std::function<Known(const GpuUse&)>& of) {
  std::vector<double> values;
  for (const std::size_t i : ranks_on_gpus(gpus)) {
    if (const Known value = of(gpus.ranks[i])) values.push_back(*value);
  }
  std::ranges::sort(values);
  return values;
}

/// Returns minimum, 5 %, median, 95 %, maximum; null without values.
Json quantiles(const EpochGpus& gpus, const GpuColumn& column) {
  const std::vector<double> values = values_of(gpus, column.of);
  if (values.empty()) return {};
  Json found = Json::array();
  for (const double at : {0.0, 0.05, 0.5, 0.95, 1.0}) {
    const double index = at * static_cast<double>(values.size() - 1);
    found.push_back(milli(values[static_cast<std::size_t>(std::lround(index))]));
  }
  return found;
}

/// Sums over GPUs; nullopt if none has a value.
Known sum_over(const EpochGpus& gpus, const std::function<Known(const GpuUse&)>& of) {
  Known sum;
  for (const std::size_t i : one_rank_a_gpu(gpus)) {
    if (const Known value = of(gpus.ranks[i])) sum = sum.value_or(0) + *value;
  }
  return sum;
}

Known ecc_errors_of(const GpuUse& use) {
  return use.ecc_known > 0 ? Known(use.ecc_errors) : std::nullopt;
}
Known xids_of(const GpuUse& use) {
  return use.xids_known > 0 ? Known(use.xids) : std::nullopt;
}

/// Sorts by errors, then missing readings, then throttling, then idleness.
std::vector<std::size_t> worst_first(const EpochGpus& gpus) {
  auto ranks = ranks_on_gpus(gpus);
  const auto badness = [&](std::size_t i) {
    const GpuUse& use = gpus.ranks[i];
    return std::tuple(use.xids + use.ecc_errors > 0, use.readings == 0,
                      use.slowed_share().value_or(0), -use.utilisation.mean().value_or(1));
  };
  std::ranges::stable_sort(ranks, std::greater(), badness);
  return ranks;
}

Json reasons_of(const GpuUse& use) {
  if (use.slowdowns_known <= 0) return {};
  Json reasons = Json::object();
  for (const GpuSlowdown reason : gpu_slowdowns) {
    const double seconds = use.slowed_by[static_cast<std::size_t>(reason)];
    if (seconds > 0) reasons[std::string(to_string(reason))] = milli(seconds);
  }
  return reasons;
}

Json row_of(const EpochGpus& gpus, std::size_t rank) {
  const GpuUse& use = gpus.ranks[rank];
  Json row = {{"rank", rank}, {"host", gpus.hosts[rank]}, {"pci", gpus.pci[rank]}};
  for (const GpuColumn& column : gpu_columns) row[column.name] = milli(column.of(use));
  for (const GpuColumn& column : row_columns) row[column.name] = milli(column.of(use));
  row["throttled_seconds"] = reasons_of(use);
  row["ecc_errors"] = milli(ecc_errors_of(use));
  row["xids"] = use.xids_known > 0 ? Json::array() : Json();
  for (const double xid : use.first_xids) {
    if (xid > 0) row["xids"].push_back(static_cast<int>(xid));
  }
  row["readings"] = static_cast<std::int64_t>(use.readings);
  row["seconds"] = milli(use.seconds);
  return row;
}

std::string who(const EpochGpus& gpus, std::size_t rank) {
  return fmt::format("rank {} on {}, GPU {}", rank, gpus.hosts[rank], gpus.pci[rank]);
}

std::string slowed_words(const EpochGpus& gpus, std::size_t rank, std::int64_t epoch) {
  const GpuUse& use = gpus.ranks[rank];
  constexpr double percent = 100;
  std::string reasons;
  for (const GpuSlowdown reason : gpu_slowdowns) {
    const double share = use.slowed_by[static_cast<std::size_t>(reason)] / use.slowdowns_known;
    if (share <= 0) continue;
    reasons += fmt::format("{}{} {:.0f} %", reasons.empty() ? "" : ", ", to_string(reason),
                           percent * share);
  }
  std::string text = fmt::format("{}: slowed down {:.0f} % of epoch {} ({})", who(gpus, rank),
                                 percent * use.slowed_share().value_or(0), epoch, reasons);
  if (use.loaded_clock.readings > 0 && use.most_clock > 0) {
    text += fmt::format(", its clock down to {:.0f} MHz of {:.0f}", use.loaded_clock.least,
                        use.most_clock);
  }
  return text;
}

/// Returns whether only the power limit, which is normal at full load, caused throttling.
bool only_by_power(const GpuUse& use) {
  return use.slowed_by[static_cast<std::size_t>(GpuSlowdown::power_cap)] >= use.slowed;
}

}  // namespace

Json gpu_fields(const EpochGpus& gpus) {
  const auto ranks = ranks_on_gpus(gpus);
  const auto answered =
      std::ranges::count_if(ranks, [&](std::size_t i) { return gpus.ranks[i].readings > 0; });
  Json fields = {{"ranks", ranks.size()},
                 {"answered", answered},
                 {"quantiles", Json::array({0, 0.05, 0.5, 0.95, 1})}};
  for (const GpuColumn& column : gpu_columns) fields[column.name] = quantiles(gpus, column);
  fields["energy_j"] = milli(sum_over(gpus, energy_of));
  GpuUse all;
  for (const std::size_t i : one_rank_a_gpu(gpus)) {
    all.slowdowns_known += gpus.ranks[i].slowdowns_known;
    for (std::size_t k = 0; k < gpu_slowdown_kinds; ++k) {
      all.slowed_by[k] += gpus.ranks[i].slowed_by[k];
    }
  }
  fields["throttled_seconds"] = reasons_of(all);
  fields["ecc_errors"] = milli(sum_over(gpus, ecc_errors_of));
  fields["xids"] = milli(sum_over(gpus, xids_of));
  Json rows = Json::array();
  for (const std::size_t rank : worst_first(gpus)) {
    if (rows.size() == most_rows) break;
    rows.push_back(row_of(gpus, rank));
  }
  fields["worst"] = std::move(rows);
  fields["notes"] = gpus.notes;
  return fields;
}

std::vector<Scalar> gpu_scalars(const EpochGpus& gpus) {
  constexpr double bytes_per_gib = 1 << 30;
  std::vector<Scalar> scalars;
  const auto mean = [&](const char* tag, const std::function<Known(const GpuUse&)>& of) {
    const auto values = values_of(gpus, of);
    if (values.empty()) return;
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    scalars.push_back({tag, sum / static_cast<double>(values.size())});
  };
  const auto most = [&](const char* tag, const std::function<Known(const GpuUse&)>& of,
                        double unit) {
    const auto values = values_of(gpus, of);
    if (!values.empty()) scalars.push_back({tag, values.back() / unit});
  };
  mean("gpu/utilisation", [](const GpuUse& use) { return use.utilisation.mean(); });
  most(
      "gpu/memory_GiB", [](const GpuUse& use) { return most_of(use.memory); }, bytes_per_gib);
  mean("gpu/power_W", [](const GpuUse& use) { return use.power.mean(); });
  mean("gpu/sm_clock_MHz", [](const GpuUse& use) { return use.clock.mean(); });
  most(
      "gpu/throttled", [](const GpuUse& use) { return use.slowed_share(); }, 1);
  most(
      "gpu/idle_between_steps", [](const GpuUse& use) { return use.idle_share(); }, 1);
  most(
      "gpu/exposed_communication_ms", [](const GpuUse& use) { return use.exposed_ms(); }, 1);
  return scalars;
}

std::vector<std::string> GpuNews::of(std::int64_t epoch, const EpochGpus& gpus,
                                     const std::string& own_trouble) {
  std::vector<std::string> lines;
  std::vector<std::size_t> slowed;
  std::vector<std::size_t> silent;
  for (const std::size_t i : worst_first(gpus)) {
    if (gpus.ranks[i].slowed_share().value_or(0) > most_slowed) slowed.push_back(i);
    const GpuUse& use = gpus.ranks[i];
    const bool failed = use.readings == 0 && use.failed > 0;
    if (failed || use.unanswered > longest_silence_s) silent.push_back(i);
  }
  const auto more = [](const std::vector<std::size_t>& ranks) {
    return ranks.size() == 1 ? "" : fmt::format("; {} more alike", ranks.size() - 1);
  };
  if (!slowed.empty() && !std::exchange(told_slowed_, true)) {
    const bool usual =
        std::ranges::all_of(slowed, [&](std::size_t i) { return only_by_power(gpus.ranks[i]); });
    lines.push_back(
        slowed_words(gpus, slowed.front(), epoch) + more(slowed) +
        (usual ? "; at full load a power limit is usual"
               : "; `dllaunch doctor` shows its state now; ask the administrators about cooling"));
  }
  if (!silent.empty() && !std::exchange(told_silent_, true)) {
    const double silence = gpus.ranks[silent.front()].unanswered;
    std::string why = silence > longest_silence_s ? fmt::format("no answer for {:.0f} s", silence)
                                                  : "its library returns nothing";
    if (silent.front() == 0 && !own_trouble.empty()) why = own_trouble;
    lines.push_back(fmt::format("{}: its use is not known: {}{}; training continues",
                                who(gpus, silent.front()), why, more(silent)));
  }
  return lines;
}

}  // namespace dllaunch

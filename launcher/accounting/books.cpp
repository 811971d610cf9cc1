#include "launcher/accounting/books.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "launcher/base/split.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

/// Hours of so many in each node; nullopt if one of both is unknown.
std::optional<double> hours(std::optional<int> per_node, double nodes,
                            std::optional<double> seconds) {
  if (!per_node || !seconds) return std::nullopt;
  return *per_node * (nodes * *seconds / 3600);
}

/// Both see the same processes, one as it ends, the other in every epoch.
std::vector<std::optional<std::int64_t>> most_of_both(
    std::vector<std::optional<std::int64_t>> one,
    const std::vector<std::optional<std::int64_t>>& other) {
  one.resize(std::max(one.size(), other.size()));
  for (std::size_t rank = 0; rank < other.size(); ++rank)
    if (other[rank]) one[rank] = std::max(one[rank].value_or(0), *other[rank]);
  return one;
}

void add_memory(const RunReadings& readings, Books& books) {
  const auto& events = readings.events;
  books.peak_memory_by_rank = most_of_both(events.peak_memory_by_rank, readings.kernel_peaks);
  const auto raise = [&books](std::optional<std::int64_t> bytes, const char* source) {
    if (!bytes || *bytes <= books.peak_memory_bytes.value_or(0)) return;
    books.peak_memory_bytes = bytes;
    books.peak_memory_source = source;
  };
  raise(events.peak_memory_bytes, "trainer");
  for (const auto& peak : readings.kernel_peaks) raise(peak, "kernel");
  // Slurm samples: it stands only where nothing exact is known.
  if (!books.peak_memory_bytes) raise(readings.slurm.peak_task_bytes, "sacct");
  // It may be mpirun's own.
  if (!books.peak_memory_bytes) raise(readings.peak_process_bytes, "mpirun");
}

void add_energy(const RunReadings& readings, Books& books) {
  const auto add = [&books](double joules, const std::string& source,
                            std::optional<double> seconds) {
    books.energy_joules = books.energy_joules.value_or(0) + joules;
    books.energy_source += (books.energy_source.empty() ? "" : "+") + source;
    if (seconds) books.energy_seconds = std::min(books.energy_seconds.value_or(*seconds), *seconds);
  };
  // Of whole nodes, perhaps with their GPUs: nothing may be added to it.
  if (readings.slurm.joules) {
    add(*readings.slurm.joules, "sacct", readings.seconds);
    return;
  }
  if (readings.cpu_joules) add(*readings.cpu_joules, "rapl", readings.seconds);
  const auto& events = readings.events;
  if (events.gpu_joules) add(*events.gpu_joules, events.gpu_source, events.gpu_seconds);
}

std::optional<double> both(std::optional<double> one, std::optional<double> other) {
  return one && other ? std::optional(*one + *other) : std::nullopt;
}

std::optional<double> known(std::optional<double> one, std::optional<double> other) {
  return one && other ? *one + *other : one ? one : other;
}

/// "rapl+nvml" and "nvml": "rapl+nvml".
std::string joined_sources(std::string all, const std::string& more) {
  for (const auto source : split_at(more, '+')) {
    const auto names = split_at(all, '+');
    if (std::ranges::find(names, source) != names.end()) continue;
    all = all.empty() ? std::string(source) : fmt::format("{}+{}", all, source);
  }
  return all;
}

std::string number(const Json& object, std::string_view key, std::string_view form) {
  const auto value = value_at<std::optional<double>>(object, key);
  return value ? fmt::format(fmt::runtime(form), *value) : "unknown";
}

/// " in 2 submissions"; empty of one.
std::string submissions_words(const Json& summary) {
  const auto all = value_at<std::int64_t>(summary, "submissions", 1);
  return all > 1 ? fmt::format(" in {} submissions", all) : "";
}

std::string memory_words(const Json& summary) {
  const auto most = value_at<std::optional<std::int64_t>>(summary, "peak_memory_bytes");
  if (!most) return "unknown";
  const double mib = static_cast<double>(*most) / (1 << 20);
  auto words = mib < 1024 ? fmt::format("{:.1f} MiB", mib) : fmt::format("{:.2f} GiB", mib / 1024);
  const auto peaks = value_at<Json>(summary, "peak_memory_by_rank");
  for (std::size_t rank = 0; peaks.is_array() && rank < peaks.size(); ++rank) {
    if (peaks[rank] == Json(*most)) return words + fmt::format(" (rank {})", rank);
  }
  const auto source = value_at<std::string>(summary, "peak_memory_source");
  if (source == "sacct") words += " (sampled)";
  if (source == "mpirun") words += " (or of mpirun)";
  return words;
}

std::string energy_words(const Json& summary) {
  auto joules = number(summary, "energy_joules", "{:.4g} J");
  if (joules == "unknown") return joules;
  return fmt::format("{} ({}, over {})", joules, value_at<std::string>(summary, "energy_source"),
                     number(summary, "energy_seconds", "{:.1f} s"));
}

/// Empty if nothing was wasted.
std::string wasted_words(const Json& wasted) {
  if (value_at<std::optional<double>>(wasted, "seconds") == 0.0) return "";
  auto words = number(wasted, "seconds", "{:.1f} s");
  if (words == "unknown") return words;
  words += ", " + number(wasted, "core_hours", "{:.4g} core-hours");
  if (value_at<std::optional<double>>(wasted, "gpu_hours").value_or(0) > 0)
    words += ", " + number(wasted, "gpu_hours", "{:.4g} GPU-hours");
  return words;
}

}  // namespace

Books books_of(const RunReadings& readings, const RunOutline& plan) {
  const double nodes = readings.nodes.value_or(plan.nodes + plan.recovery.spare_nodes);
  const auto hours_of = [&plan, nodes](auto what, std::optional<double> seconds) {
    if (plan.components.empty()) return hours(plan.occupies.*what, nodes, seconds);
    // They start and end together.
    std::optional<double> sum = 0;
    for (const auto& one : plan.components)
      sum = both(sum, hours(one.occupies.*what, one.nodes, seconds));
    return sum;
  };
  Books books;
  books.core_hours = hours_of(&NodeShare::cores, readings.seconds);
  books.gpu_hours = hours_of(&NodeShare::gpus, readings.seconds);
  add_memory(readings, books);
  add_energy(readings, books);
  const auto& wasted = readings.wasted_seconds;
  books.wasted = {.seconds = wasted,
                  .core_hours = hours_of(&NodeShare::cores, wasted),
                  .gpu_hours = hours_of(&NodeShare::gpus, wasted)};
  const double held = readings.held_seconds;
  if (held > 0)
    books.held = {.seconds = held,
                  .core_hours = hours_of(&NodeShare::cores, held),
                  .gpu_hours = hours_of(&NodeShare::gpus, held)};
  return books;
}

Books sum_of(const Books& earlier, const Books& later) {
  const auto& most =
      later.peak_memory_bytes.value_or(0) > earlier.peak_memory_bytes.value_or(0) ? later : earlier;
  return {
      .core_hours = both(earlier.core_hours, later.core_hours),
      .gpu_hours = both(earlier.gpu_hours, later.gpu_hours),
      .peak_memory_bytes = most.peak_memory_bytes,
      .peak_memory_source = most.peak_memory_source,
      .peak_memory_by_rank = most_of_both(earlier.peak_memory_by_rank, later.peak_memory_by_rank),
      .energy_joules = known(earlier.energy_joules, later.energy_joules),
      .energy_source = joined_sources(earlier.energy_source, later.energy_source),
      .energy_seconds = known(earlier.energy_seconds, later.energy_seconds),
      .wasted = {.seconds = both(earlier.wasted.seconds, later.wasted.seconds),
                 .core_hours = both(earlier.wasted.core_hours, later.wasted.core_hours),
                 .gpu_hours = both(earlier.wasted.gpu_hours, later.wasted.gpu_hours)},
      .held = {.seconds = known(earlier.held.seconds, later.held.seconds),
               .core_hours = known(earlier.held.core_hours, later.held.core_hours),
               .gpu_hours = known(earlier.held.gpu_hours, later.held.gpu_hours)}};
}

std::vector<std::pair<std::string, std::string>> hour_words(const Json& summary) {
  if (!summary.is_object() || !summary.contains("core_hours")) return {};
  std::vector<std::pair<std::string, std::string>> words = {
      {"core-hours", number(summary, "core_hours", "{:.4g}") + submissions_words(summary)}};
  // A job without GPUs has no hours of them.
  if (value_at<std::optional<double>>(summary, "gpu_hours") != 0.0)
    words.emplace_back("GPU-hours", number(summary, "gpu_hours", "{:.4g}"));
  return words;
}

std::vector<std::pair<std::string, std::string>> book_words(const Json& summary) {
  auto words = hour_words(summary);
  if (words.empty()) return words;
  words.emplace_back("peak memory of a rank", memory_words(summary));
  words.emplace_back("energy", energy_words(summary));
  const auto wasted = wasted_words(value_at<Json>(summary, "wasted"));
  if (!wasted.empty()) words.emplace_back("wasted by interruptions", wasted);
  if (const auto held = value_at<Json>(summary, "held"); held.is_object())
    words.emplace_back("held after errors", wasted_words(held));
  return words;
}

}  // namespace dllaunch

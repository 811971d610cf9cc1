#include "launcher/plan/cpus_per_task.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

/// The value of "--hint=VALUE" or "--hint VALUE".
std::optional<std::string_view> value_of(std::string_view extra, std::string_view option) {
  if (!extra.starts_with(option) || extra.size() == option.size()) return std::nullopt;
  const char next = extra[option.size()];
  if (next != '=' && next != ' ') return std::nullopt;
  return extra.substr(option.size() + 1);
}

/// Threads per core that the job's options request.
std::optional<int> asked_for(const Job& job, int threads) {
  for (const std::string_view extra : job.resources.sbatch_extra) {
    if (const auto hint = value_of(extra, "--hint")) {
      if (*hint == "nomultithread") return 1;
      if (*hint == "multithread") return threads;
    }
    if (const auto count = value_of(extra, "--threads-per-core")) {
      const auto number = parse_number<int>(*count);
      if (number && *number >= 1) return std::min(*number, threads);
    }
  }
  return std::nullopt;
}

}  // namespace

CpusPerTaskUnit cpus_per_task_unit(const Job& job, bool in_cores, const NodeType& type) {
  const int threads = std::max(1, type.threads_per_core);
  const auto counted = [&](int core) {
    return CpusPerTaskUnit{
        .usable = type.cpus * core / threads, .core = core, .threads_per_core = {}};
  };
  if (const auto own = asked_for(job, threads)) return counted(*own);
  if (!in_cores || threads == 1) return counted(threads);
  auto said = counted(job.binding.smt ? threads : 1);
  said.threads_per_core = std::to_string(said.core);
  return said;
}

}  // namespace dllaunch

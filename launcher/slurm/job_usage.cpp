#include "launcher/slurm/job_usage.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>

#include "launcher/base/split.hpp"
#include "launcher/slurm/plain_query.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

/// "1234K", "1.5G", "512" bytes; nullopt: empty or 0.
std::optional<std::int64_t> bytes_in(std::string_view text) {
  constexpr std::string_view units = "KMGTP";
  if (text.empty()) return std::nullopt;
  const auto unit = units.find(text.back());
  if (unit != std::string_view::npos) text.remove_suffix(1);
  const auto number = parse_number<double>(text);
  constexpr double most = 1e15;
  if (!number || !(*number > 0) || *number > most) return std::nullopt;
  const int power = unit == std::string_view::npos ? 0 : 10 * (static_cast<int>(unit) + 1);
  const double bytes = std::ldexp(*number, power);
  constexpr double most_bytes = 1e18;
  return bytes <= most_bytes ? std::optional(static_cast<std::int64_t>(bytes)) : std::nullopt;
}

/// The energy of one record of a job. Each step counts all that its nodes use while it runs, so
/// that the batch script and the ranks' steps, which follow each other, count the same twice, as
/// does sacct's sum for the job.
struct RecordEnergy {
  double steps = 0;    // 123.0, 123.1, ...
  double longest = 0;  // 123.batch, 123.extern
};

}  // namespace

JobUsage parse_job_usage(std::string_view text) {
  JobUsage usage;
  RecordEnergy record;
  double joules = 0;
  const auto close = [&] {
    joules += std::max(record.steps, record.longest);
    record = {};
  };
  for (const auto line : split_lines(text)) {
    const auto fields = split_at(line, '|');
    if (fields.size() < 3 || fields[0].empty()) continue;
    const auto dot = fields[0].find('.');
    const auto step = dot == std::string_view::npos ? "" : fields[0].substr(dot + 1);
    if (step.empty()) close();  // a record of a job comes before its steps
    const bool numbered =
        !step.empty() && std::isdigit(static_cast<unsigned char>(step.front())) != 0;
    const double energy = std::max(0.0, parse_number<double>(fields[2]).value_or(0));
    if (!std::isfinite(energy)) continue;
    if (numbered) record.steps += energy;
    if (!numbered && !step.empty()) record.longest = std::max(record.longest, energy);
    const auto peak = numbered ? bytes_in(fields[1]) : std::nullopt;
    if (peak) usage.peak_task_bytes = std::max(usage.peak_task_bytes.value_or(0), *peak);
  }
  close();
  if (joules > 0) usage.joules = joules;
  return usage;
}

JobUsage usage_of_job(System& system, const std::string& id) {
  constexpr std::chrono::seconds limit(10);
  if (!system.find_program("sacct")) return {};
  const auto output =
      system.run(plain_query(system, {"sacct", "--noheader", "--parsable2", "--duplicates",
                                      "--jobs=" + id, "--format=JobID,MaxRSS,ConsumedEnergyRaw"}),
                 limit);
  if (!output || output->exit_code != 0) return {};
  return parse_job_usage(output->out);
}

}  // namespace dllaunch

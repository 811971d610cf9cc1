#include "launcher/queue/past_estimates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "launcher/base/split.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/run/run_index.hpp"
#include "launcher/study/scaling_fit.hpp"
#include "support/counted.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {

template <typename Field>
void visit_fields(Field& field, StartRecord& record) {
  field("made", record.made_s);
  field("start", record.start_s);
  field("finish", record.finish_s);
  field("slurm_start", record.slurm_s);
  field("by_backfill", record.by_backfill);
  field("shape", record.shape);
}

namespace {

constexpr std::size_t most_estimates = 200;
constexpr double same_moment_s = 60;
constexpr std::size_t largest_record = std::size_t{4} << 20;

/// A damaged file can claim any moment; this is in the year 2106.
bool is_moment(double time_s) {
  return time_s > 0 && time_s < 4294967296.0;
}

std::string path_in(const std::string& run) {
  return run + "/estimate.json";
}

/// The first line of the supervisor's journal is from the job's first minute.
std::optional<double> started_at(System& system, const std::string& run) {
  const auto text = read_run_file(system, run + "/supervisor.jsonl", largest_record);
  if (!text || text->empty()) return std::nullopt;
  const auto time_s = value_at<double>(json_object_in(*split_lines(*text).begin()), "time");
  return is_moment(time_s) ? std::optional(time_s) : std::nullopt;
}

std::string minutes(double seconds) {
  return seconds < same_moment_s ? fmt::format("{:.0f} s", seconds)
                                 : fmt::format("{:.0f} min", seconds / 60);
}

}  // namespace

Json to_json(const StartRecord& record) {
  return write_fields(record);
}

StartRecord start_record_from(const Json& document) {
  return document.is_object() ? read_what_fits<StartRecord>(document) : StartRecord{};
}

Result<Ok> keep_estimate(const RunDir& run, const StartRecord& record) {
  return write_file(path_in(run.path), json_text(to_json(record)));
}

std::vector<PastEstimate> past_estimates(System& system) {
  std::vector<PastEstimate> all;
  for (const auto& run : known_runs(system, most_estimates)) {
    const auto text = read_run_file(system, path_in(run), largest_record);
    if (!text || text->empty()) continue;
    const auto record = start_record_from(json_object_in(*text));
    const auto started_s = started_at(system, run);
    if (!started_s || !is_moment(record.made_s) || !is_moment(record.start_s)) continue;
    all.push_back(
        {.made_s = record.made_s, .estimated_s = record.start_s, .started_s = *started_s});
  }
  return all;
}

EstimatesWorth worth_of(const std::vector<PastEstimate>& past) {
  EstimatesWorth worth{.runs = static_cast<int>(past.size())};
  std::vector<double> off;
  for (const auto& one : past) {
    const double late_s = one.started_s - one.estimated_s;
    worth.earlier += late_s < -same_moment_s ? 1 : 0;
    worth.later += late_s > same_moment_s ? 1 : 0;
    off.push_back(std::abs(late_s));
  }
  if (off.empty()) return worth;
  worth.worst_off_s = std::ranges::max(off);
  worth.median_off_s = median(std::move(off));
  return worth;
}

std::string words_of(const EstimatesWorth& worth) {
  if (worth.runs == 0)
    return "what the estimates are worth is not known here yet: no run that --soonest submitted "
           "has started";
  return fmt::format(
      "start estimates here were off by a median of {} over {}, at most by {}; {} started earlier "
      "than estimated, {} later; start times above are not corrected for this",
      minutes(worth.median_off_s), counted(worth.runs, "run"), minutes(worth.worst_off_s),
      worth.earlier, worth.later);
}

}  // namespace dllaunch

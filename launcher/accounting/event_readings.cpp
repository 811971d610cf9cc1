#include "launcher/accounting/event_readings.hpp"

#include <algorithm>
#include <array>

#include "launcher/os/line_tail.hpp"
#include "launcher/os/stored_json.hpp"
#include "support/json.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

void raise(std::optional<std::int64_t>& most, std::int64_t bytes) {
  if (bytes > 0) most = std::max(most.value_or(0), bytes);
}

void take_ranks(const Json& event, EventReadings& readings) {
  raise(readings.peak_memory_bytes, value_at<std::int64_t>(event, "peak_memory_bytes"));
  constexpr std::size_t most_ranks = 1024;  // as the trainer writes
  const auto listed = value_at<Json>(event, "peak_memory_by_rank");
  if (!listed.is_array() || listed.size() > most_ranks) return;
  auto& peaks = readings.peak_memory_by_rank;
  peaks.resize(std::max(peaks.size(), listed.size()));
  for (std::size_t rank = 0; rank < listed.size(); ++rank)
    if (listed[rank].is_number_integer()) raise(peaks[rank], listed[rank].get<std::int64_t>());
}

/// The trainer's sum counts a GPU that ranks share once; a sum of 0 comes from an older trainer's
/// single reading.
void take_gpus(const Json& event, const std::string& backend, EventReadings& readings) {
  const auto joules = value_at<double>(event, "energy_j");
  if (!(joules > 0)) return;
  double seconds = 0;
  const auto rows = value_at<Json>(event, "worst");
  for (std::size_t i = 0; rows.is_array() && i < rows.size(); ++i)
    seconds = std::max(seconds, value_at<double>(rows[i], "seconds"));
  readings.gpu_joules = readings.gpu_joules.value_or(0) + joules;
  readings.gpu_seconds += seconds;
  readings.gpu_source = backend == "hip" ? "rocm_smi" : "nvml";
}

}  // namespace

void EventMeter::take(std::string_view line) {
  constexpr std::array<std::string_view, 3> names = {R"("event":"start")", R"("event":"ranks")",
                                                     R"("event":"gpus")"};
  const auto named = [line](std::string_view name) {
    return line.find(name) != std::string_view::npos;
  };
  if (std::ranges::none_of(names, named)) return;
  const Json event = json_object_in(std::string(line));
  if (!event.is_object() || value_at<double>(event, "time") < since_s_) return;
  const auto name = value_at<std::string>(event, "event");
  if (name == "start") backend_ = value_at<std::string>(event, "backend");
  if (name == "ranks") take_ranks(event, readings_);
  if (name == "gpus") take_gpus(event, backend_, readings_);
}

EventReadings read_event_readings(const std::string& events_path, double since_s) {
  EventMeter meter(since_s);
  for_each_line(events_path, [&meter](const std::string& line) { meter.take(line); });
  return meter.readings();
}

}  // namespace dllaunch

// Memory of ranks and energy of GPUs, as the trainer's events report them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

struct EventReadings {
  std::optional<std::int64_t> peak_memory_bytes = {};
  std::vector<std::optional<std::int64_t>> peak_memory_by_rank = {};  // empty: not known of each
  std::optional<double> gpu_joules = {};  // of distinct GPUs, between the readings of each epoch
  double gpu_seconds = 0;                 // that these joules cover
  std::string gpu_source = {};            // nvml | rocm_smi, with gpu_joules
};

/// Adds up the events of a run. What was lost by a restart counts too: it took memory and energy.
class EventMeter {
 public:
  /// Events before `since_s`, Unix seconds, are of earlier runs in the directory.
  explicit EventMeter(double since_s) : since_s_(since_s) {}

  void take(std::string_view line);
  const EventReadings& readings() const { return readings_; }

 private:
  double since_s_;
  std::string backend_;
  EventReadings readings_;
};

EventReadings read_event_readings(const std::string& events_path, double since_s);

}  // namespace dllaunch

#include "runtime/gpu/sensors/gpu_reading.hpp"

namespace dllaunch {

std::string_view to_string(GpuSlowdown reason) {
  switch (reason) {
    case GpuSlowdown::power_cap:
      return "power_cap";
    case GpuSlowdown::thermal:
      return "thermal";
    case GpuSlowdown::hardware:
      return "hardware";
    case GpuSlowdown::power_brake:
      return "power_brake";
    case GpuSlowdown::sync_boost:
      return "sync_boost";
    case GpuSlowdown::other:
      return "other";
  }
  return "";
}

std::string to_string(GpuSlowdowns reasons) {
  std::string text;
  for (const GpuSlowdown reason : gpu_slowdowns) {
    if (!reasons.has(reason)) continue;
    if (!text.empty()) text += ", ";
    text += to_string(reason);
  }
  return text;
}

}  // namespace dllaunch

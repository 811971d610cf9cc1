// The state of a node's GPUs before use: present, free, healthy, not throttled.
#pragma once

#include <string>
#include <vector>

#include "support/json.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Reads NVML in this process: it may hang or crash, so call it in a child. Returns {"found",
/// "why", "gpus": [{"index", "pci", "name", "uuid", "total_bytes", "used_bytes", "processes",
/// "slowed", "clock_mhz", "most_mhz", "ecc_errors", "remap_pending", "remap_failed", "link_width",
/// "most_link_width"}]}; values an old driver does not report are left out.
Json read_nvml_states(const std::string& file);

/// The same for AMD GPUs, from kernel files below `root`; "found": there are any.
Json read_amd_states(const std::string& root);

/// Counts the device files /dev/nvidia0, ... below `root`.
int count_nvidia_files(const std::string& root);

}  // namespace dllaunch

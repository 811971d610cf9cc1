// How the GPUs of a node are, before anything uses them: there, free, healthy, not slowed down.
#pragma once

#include <string>
#include <vector>

#include "support/json.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// What NVML says, in this process: it may hang or crash, so call it from a child.
/// {"found", "why", "gpus": [{"index", "pci", "name", "uuid", "total_bytes", "used_bytes",
/// "processes", "slowed", "clock_mhz", "most_mhz", "ecc_errors", "remap_pending", "remap_failed",
/// "link_width", "most_link_width"}]}; what an old driver does not tell is left out.
Json read_nvml_states(const std::string& file);

/// The same of AMD's GPUs, from the kernel's files below `root`; "found": there are any.
Json read_amd_states(const std::string& root);

/// Device files /dev/nvidia0, ... below `root`.
int count_nvidia_files(const std::string& root);

}  // namespace dllaunch

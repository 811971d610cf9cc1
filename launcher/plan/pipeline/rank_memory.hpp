// The memory that each rank of a plan has. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launcher/plan/plan.hpp"

namespace dllaunch {

/// Bytes of the node for each of its ranks; nullopt: not known, or a GPU's memory counts.
std::optional<std::int64_t> rank_memory(const LaunchPlan& plan);

/// "965.0 MiB", "1.20 GiB".
std::string bytes_words(std::int64_t bytes);

}  // namespace dllaunch

// What was measured once on such a machine and is worth keeping: a small file of the user's cache.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/rank/rank_env.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// $XDG_CACHE_HOME/dllaunch/measured/NAME, or the same in ~/.cache. Nothing where the user has
/// neither.
std::optional<std::filesystem::path> measured_file(const EnvLookup& lookup, std::string_view name);

/// The processor's model, as keys name it: "AMD_EPYC_9R14"; "unknown" where the kernel is silent.
std::string cpu_model();

/// Keys are words: every blank or control character counts as '_'. A file that is absent, damaged
/// or another's holds nothing.
std::optional<std::vector<std::int64_t>> recall(const std::filesystem::path& file,
                                                std::string_view key);

/// Replaces the key's line; the whole file is replaced at once, and keeps the newest 1000 lines.
/// unavailable: the file system refuses.
Result<Ok> keep(const std::filesystem::path& file, std::string_view key,
                std::span<const std::int64_t> values);

}  // namespace dllaunch

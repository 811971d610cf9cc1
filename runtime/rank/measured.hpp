// A cache of measurements of this kind of machine: a small file in the user's cache folder.
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

/// $XDG_CACHE_HOME/dllaunch/measured/NAME, or the same in ~/.cache. nullopt without either.
std::optional<std::filesystem::path> measured_file(const EnvLookup& lookup, std::string_view name);

/// The processor model as a cache key: "AMD_EPYC_9R14"; "unknown" if the kernel does not report it.
std::string cpu_model();

/// One line of such a file. In a key, blanks and control characters count as '_'.
struct Measurement {
  std::string key;
  std::vector<std::int64_t> values;
  bool operator==(const Measurement&) const = default;
};

/// Measurements as text, one a line, and back. Lines that are damaged or longer than 4096 bytes are
/// left out.
std::string text_of_measurements(std::span<const Measurement> all);
std::vector<Measurement> measurements_of(std::string_view text);

/// Returns everything stored, the newest first. Empty if the file is absent, damaged or another
/// user's.
std::vector<Measurement> recall_all(const std::filesystem::path& file);

/// Returns the values stored under `key`. nullopt if the file is absent, damaged or another
/// user's.
std::optional<std::vector<std::int64_t>> recall(const std::filesystem::path& file,
                                                std::string_view key);

/// Replaces the keys' lines by rewriting the file atomically. Keeps the newest 1000 lines, of those
/// that are not damaged. unavailable: the file system refuses.
Result<Ok> keep_all(const std::filesystem::path& file, std::span<const Measurement> newest);
Result<Ok> keep(const std::filesystem::path& file, std::string_view key,
                std::span<const std::int64_t> values);

}  // namespace dllaunch

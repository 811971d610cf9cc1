// Gives finished checkpoints their final names; names of unfinished ones.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "support/result.hpp"

namespace dllaunch {

/// Returns ".tmp-step-00000469", or with a fencing token ".tmp-3-step-00000469": two incarnations
/// of a run may write at the same time and must not share names.
std::string temporary_name(std::int64_t fencing_token, std::string_view what);

/// Returns whether `name` is a temporary name that this incarnation may remove: its own or that of
/// an earlier one. An incarnation without a fencing token is the only one.
bool is_leftover(std::string_view name, std::int64_t fencing_token);

/// Flushes the names in a directory to disk.
Result<Ok> sync_directory(const std::filesystem::path& directory);

/// Atomically swaps two names. Returns 0, or errno if the file system cannot (mostly NFS).
int exchange_names(const std::filesystem::path& one, const std::filesystem::path& other);

using ExchangeNames =
    std::function<int(const std::filesystem::path& one, const std::filesystem::path& other)>;

/// Renames the directory `temporary` to `final`. An existing one is swapped out atomically if the
/// file system can. If it cannot, a valid existing one is kept (it is the same step of the same
/// run) and `temporary` is removed. So a valid directory of that name never disappears, even if
/// another process does the same or a process is killed in between. unavailable: an I/O error.
Result<Ok> put_in_place(const std::filesystem::path& temporary, const std::filesystem::path& final,
                        const ExchangeNames& exchange = exchange_names);

}  // namespace dllaunch

// How a checkpoint that is written gets its name, and the names of what is not finished.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "support/result.hpp"

namespace dllaunch {

/// ".tmp-step-00000469", of a life with a generation ".tmp-3-step-00000469": two lives that write
/// at once must not meet.
std::string temporary_name(std::int64_t generation, std::string_view what);

/// Whether `name` is a temporary one that the life `generation` may remove: its own or an earlier
/// life's; a life without a generation is alone.
bool is_leftover(std::string_view name, std::int64_t generation);

/// Makes the names in a directory as durable as the files behind them.
Result<Ok> sync_directory(const std::filesystem::path& directory);

/// Swaps two names at once. Returns 0, or errno where the file system cannot (NFS, mostly).
int exchange_names(const std::filesystem::path& one, const std::filesystem::path& other);

using ExchangeNames =
    std::function<int(const std::filesystem::path& one, const std::filesystem::path& other)>;

/// Gives the directory `temporary` the name `final`. One of that name is replaced at once where the
/// file system can swap names; where it cannot, a sound one stays, which is of the same step of the
/// same run, and `temporary` goes. So at every moment a sound one of that name is there if there
/// was, whoever else does the same, and whoever is killed in between.
/// unavailable: the file system refuses.
Result<Ok> put_in_place(const std::filesystem::path& temporary, const std::filesystem::path& final,
                        const ExchangeNames& exchange = exchange_names);

}  // namespace dllaunch

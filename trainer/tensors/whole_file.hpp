// Reads whole files whose size is checked first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

/// Ok if a file of this size is worth reading; otherwise the reason why not.
using JudgeSize = std::function<Result<Ok>(std::uint64_t bytes)>;

/// Returns the content of a regular file. Errors name the file by the last part of its path.
/// bad_request: it is missing, not a regular file, or rejected by `judge`. unavailable: it cannot
/// be read now (EACCES, EIO, ESTALE, EMFILE ...), or memory is exhausted.
Result<std::vector<std::byte>> read_whole_file(const std::filesystem::path& file,
                                               const JudgeSize& judge);

}  // namespace dllaunch

// A file that is read whole, once its size is known to make sense.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

/// Whether a file of so many bytes is worth the memory; where not, the error that says why.
using JudgeSize = std::function<Result<Ok>(std::uint64_t bytes)>;

/// The content of a regular file. An error names the file by the last part of its path.
/// bad_request: there is none, or something else of that name (a directory, a FIFO), or what
/// `judge` says. unavailable: it may be sound and cannot be read now: the file system refuses
/// (EACCES, EIO, ESTALE, EMFILE ...), or there is no memory for it.
Result<std::vector<std::byte>> read_whole_file(const std::filesystem::path& file,
                                               const JudgeSize& judge);

}  // namespace dllaunch

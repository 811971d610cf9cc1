// Writes report files that may be read during training. Errors never stop the training.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "support/result.hpp"

namespace dllaunch {

/// Atomically replaces the file's content. unavailable: an I/O error.
Result<Ok> replace_file(const std::filesystem::path& file, std::string_view text);

/// Appends `text` with one write, or nothing at all; creates the file if necessary. unavailable: an
/// I/O error.
Result<Ok> append_to_file(const std::filesystem::path& file, std::string_view text);

/// Appends `text` to an open file of `size` bytes and updates `size`. A partial write (disk full)
/// is truncated. unavailable: an I/O error.
Result<Ok> append_whole(int descriptor, std::string_view text, std::int64_t& size);

/// Renames to FILE.1, or to the first number that is free. unavailable: an I/O error.
Result<Ok> set_file_aside(const std::filesystem::path& file);

}  // namespace dllaunch

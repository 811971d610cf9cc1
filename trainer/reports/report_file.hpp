// Files that people read while a training goes on; what is lost of one never stops it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "support/result.hpp"

namespace dllaunch {

/// All of it or nothing: readers see the file as it was or as it is to be.
/// unavailable: the file system refuses.
Result<Ok> replace_file(const std::filesystem::path& file, std::string_view text);

/// All of it or nothing, with one write; the file is made where there is none.
/// unavailable: the file system refuses.
Result<Ok> append_to_file(const std::filesystem::path& file, std::string_view text);

/// Adds `text` to a file of `size` bytes, opened for appending; `size` grows. What a full disk took
/// of it is cut off again. unavailable: why.
Result<Ok> append_whole(int descriptor, std::string_view text, std::int64_t& size);

/// FILE.1, or the first number that is free. unavailable: the file system refuses.
Result<Ok> set_file_aside(const std::filesystem::path& file);

}  // namespace dllaunch

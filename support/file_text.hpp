// Reads text files whole.
#pragma once

#include <cstddef>
#include <string>

#include "support/regular_file.hpp"
#include "support/result.hpp"

namespace dllaunch {

constexpr std::size_t most_text_of_file = std::size_t{64} << 20;

/// Returns the whole text of a regular file; where links are followed also of standard input and of
/// a shell's <(COMMAND), for which the user expects to wait. unavailable: the error, and any other
/// pipe or device. bad_request: it is larger than `most_bytes`. Both name the file.
Result<std::string> read_file_text(const std::string& path, FileLinks links = FileLinks::followed,
                                   std::size_t most_bytes = most_text_of_file);

}  // namespace dllaunch

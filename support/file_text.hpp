// Reads a text file that the user named.
#pragma once

#include <string>

#include "support/result.hpp"

namespace dllaunch {

/// Returns the whole text, also from a pipe. bad_request, with the file's name, if it cannot be
/// read or exceeds 64 MiB.
Result<std::string> read_file_text(const std::string& path);

}  // namespace dllaunch

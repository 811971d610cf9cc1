// The text of a file that a user named.
#pragma once

#include <string>

#include "support/result.hpp"

namespace dllaunch {

/// All of it; pipes too. bad_request: names the file when it cannot be read or is over 64 MiB.
Result<std::string> read_file_text(const std::string& path);

}  // namespace dllaunch

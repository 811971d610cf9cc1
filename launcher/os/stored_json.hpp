// JSON from files that others may have written: judged by size and depth before it is used.
#pragma once

#include <string>
#include <string_view>

#include "launcher/os/system.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// Whether copying or writing the document, which recurse, may outgrow a thread's stack: nothing
/// that dllaunch writes is nested so deep.
bool is_too_deep(const Json& document);

/// The document; null where the text is no JSON object or too deep.
Json json_object_in(std::string_view text);

/// The text of a file of a run; empty where there is none. unavailable: it is larger than
/// `most_bytes`, which no such file of ours is.
Result<std::string> read_run_file(System& system, const std::string& path, std::size_t most_bytes);

}  // namespace dllaunch

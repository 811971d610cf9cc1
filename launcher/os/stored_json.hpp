// JSON as dllaunch writes it, and from files that others may have written, with limits on size and
// depth.
#pragma once

#include <string>
#include <string_view>

#include "launcher/os/system.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// Whether the document is nested so deeply that copying or writing it, which recurse, may overflow
/// a thread's stack. dllaunch writes no such document.
bool is_too_deep(const Json& document);

/// For people and files: indented, with a newline at the end. Bytes that are not UTF-8, as paths
/// may have, are replaced.
std::string json_text(const Json& document);

/// The document; null if the text is not a JSON object or is nested too deeply.
Json json_object_in(std::string_view text);

/// The text of a file in a run directory; empty if there is none. unavailable: it exceeds
/// `most_bytes`, as no file of dllaunch does.
Result<std::string> read_run_file(System& system, const std::string& path, std::size_t most_bytes);

}  // namespace dllaunch

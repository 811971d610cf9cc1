// JSON as dllaunch writes it, and from files that others may have written, with a limit on
// their size.
#pragma once

#include <string>
#include <string_view>

#include "launcher/os/system.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// For people and files: indented, with a newline at the end. Bytes that are not UTF-8, as paths
/// may have, are replaced.
std::string json_text(const Json& document);

/// The document; null if the text is not a JSON object.
Json json_object_in(std::string_view text);

/// The text of a file in a run directory; empty if there is none. unavailable: it is no file, it
/// exceeds `most_bytes`, as no file of dllaunch does, or the file system does not give it.
Result<std::string> read_run_file(System& system, const std::string& path, std::size_t most_bytes);

}  // namespace dllaunch

#include "launcher/os/stored_json.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "launcher/os/storage_patience.hpp"

namespace dllaunch {

namespace fs = std::filesystem;

std::string json_text(const Json& document) {
  return document.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

Json json_object_in(std::string_view text) {
  auto document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) return {};
  return document;
}

Result<std::string> read_run_file(System& system, const std::string& path, std::size_t most_bytes) {
  auto text = system.read_file(path);
  // Of a run most files are not there, and each further question costs time over a network.
  if (!text && text.error().what.ends_with(std::strerror(ENOENT))) return std::string();
  if (!text) {
    std::error_code gone;
    const bool stands = fs::exists(fs::symlink_status(path, gone));
    const bool odd = stands && !fs::is_regular_file(path, gone);
    if (odd || tells_of_storage(text.error().what)) return std::move(text).error();
  }
  const bool refused = !text && text.error().kind == ErrorKind::bad_request;
  if (refused || (text && text->size() > most_bytes))
    return Error{
        ErrorKind::unavailable,
        fmt::format("{} is larger than {} KiB: dllaunch did not write it", path, most_bytes >> 10),
        "move it away"};
  return text ? *std::move(text) : std::string();
}

}  // namespace dllaunch

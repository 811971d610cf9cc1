#include "launcher/os/storage_patience.hpp"

namespace dllaunch {
namespace {

bool has(std::string_view words, std::string_view sign) {
  return words.find(sign) != std::string_view::npos;
}

}  // namespace

bool tells_of_no_room(std::string_view words) {
  return has(words, "No space left on device") || has(words, "Disk quota exceeded");
}

bool tells_of_storage(std::string_view words) {
  return tells_of_no_room(words) || has(words, "Stale file handle") ||
         has(words, "Input/output error");
}

}  // namespace dllaunch

#include "launcher/os/storage_patience.hpp"

#include <algorithm>
#include <array>

namespace dllaunch {

bool tells_of_storage(std::string_view words) {
  constexpr std::array<std::string_view, 4> signs = {
      "No space left on device", "Disk quota exceeded", "Stale file handle", "Input/output error"};
  return std::ranges::any_of(
      signs, [words](std::string_view sign) { return words.find(sign) != std::string_view::npos; });
}

}  // namespace dllaunch

#include "support/own_file.hpp"

#include <charconv>
#include <cstdint>
#include <fstream>

namespace dllaunch {
namespace {

/// Whether a line of /proc/PID/maps ("55d0-55f0 r-xp 00000000 fe:00 123   /usr/bin/x") is of a
/// range with this address in it.
bool has_address(const std::string& line, std::uintptr_t address) {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  const char* last = line.data() + line.size();
  const char* dash = std::from_chars(line.data(), last, begin, 16).ptr;
  if (dash == last) return false;
  std::from_chars(dash + 1, last, end, 16);
  return begin <= address && address < end;
}

}  // namespace

// Not /proc/self/exe: in a bundle that is the loader (docs/decisions/0024).
Result<std::string> own_file() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto path = line.find('/');
    if (path != std::string::npos && has_address(line, reinterpret_cast<std::uintptr_t>(&own_file)))
      return line.substr(path);
  }
  return Error{ErrorKind::unavailable, "cannot read /proc/self/maps", ""};
}

}  // namespace dllaunch

#include "launcher/os/shown_process.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "launcher/base/split.hpp"
#include "support/file_text.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t arg_start = 46;  // fields of proc(5), without the two up to the name
constexpr std::size_t env_start = 48;

/// The bytes of this process between the addresses in a field of its stat file and in the next;
/// empty: unknown.
std::span<char> bytes_of(std::size_t field) {
  const auto stat = read_file_text("/proc/self/stat");
  const auto name_end = stat ? stat->rfind(") ") : std::string::npos;
  if (name_end == std::string::npos) return {};
  const auto fields = split_at(std::string_view(*stat).substr(name_end + 1), ' ');
  if (fields.size() <= field + 1) return {};
  const auto begin = parse_number<std::uintptr_t>(fields[field]).value_or(0);
  const auto end = parse_number<std::uintptr_t>(fields[field + 1]).value_or(0);
  if (begin == 0 || end <= begin) return {};
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return {reinterpret_cast<char*>(begin), end - begin};
}

}  // namespace

void hide_environment() {
  std::ranges::fill(bytes_of(env_start), '\0');
}

void show_as(std::string_view title, const char* name) {
  const auto shown = bytes_of(arg_start);
  std::ranges::fill(shown, '\0');
  if (!shown.empty())
    std::memcpy(shown.data(), title.data(), std::min(title.size(), shown.size() - 1));
  prctl(PR_SET_NAME, name);
}

}  // namespace dllaunch

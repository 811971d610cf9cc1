#include "trainer/reports/peak_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

#include "support/parse_number.hpp"

namespace dllaunch {

std::optional<double> peak_memory_bytes() {
  std::ifstream file("/proc/self/status");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return peak_memory_in(text);
}

std::optional<double> peak_memory_in(std::string_view status) {
  constexpr std::string_view mark = "VmHWM:";
  const auto at = status.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  status.remove_prefix(at + mark.size());
  status.remove_prefix(std::min(status.size(), status.find_first_not_of(" \t")));
  const auto digits = status.substr(0, status.find_first_not_of("0123456789"));
  const auto kib = parse_number<std::int64_t>(digits);
  if (!kib || *kib <= 0) return std::nullopt;
  return static_cast<double>(*kib) * 1024;
}

}  // namespace dllaunch

#include "launcher/job/short_values.hpp"

#include <fmt/core.h>

#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>

#include "launcher/config/schema_scalar.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {

// At most six digits: no sum overflows, and all fit Slurm's 32-bit minutes.
const char* const short_time_pattern =
    "([0-9]{1,6}d([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?|"
    "[0-9]{1,6}h([0-9]{1,6}m)?([0-9]{1,6}s)?|[0-9]{1,6}m([0-9]{1,6}s)?|[0-9]{1,6}s)";
const char* const node_range_pattern = "^[1-9][0-9]{0,6}-[1-9][0-9]{0,6}$";
const char* const memory_pattern = "^[0-9]{1,9} ?[KMGTkmgt]([iI]?[bB])?$";

const char* const some_memory_pattern = "^[1-9][0-9]{0,8} ?[KMGTkmgt]([iI]?[bB])?$";

std::optional<std::string> time_of_short(std::string_view text) {
  if (!matches(fmt::format("^{}$", short_time_pattern), std::string(text))) return std::nullopt;
  constexpr std::array<std::pair<char, std::int64_t>, 4> units = {
      {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}}};
  std::int64_t seconds = 0;
  for (const auto& [letter, length] : units) {
    const auto end = text.find(letter);
    if (end == std::string_view::npos) continue;
    seconds += length * parse_number<std::int64_t>(text.substr(0, end)).value_or(0);
    text.remove_prefix(end + 1);
  }
  const std::string clock =
      fmt::format("{:02}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
  return seconds < 86400 ? clock : fmt::format("{}-{}", seconds / 86400, clock);
}

std::optional<std::string> memory_of_short(std::string_view text) {
  if (!matches(memory_pattern, std::string(text))) return std::nullopt;
  const auto unit = text.find_first_not_of("0123456789 ");
  const auto digits = text.substr(0, text.find_first_not_of("0123456789"));
  const int letter = std::toupper(static_cast<unsigned char>(text[unit]));
  return fmt::format("{}{}", digits, static_cast<char>(letter));
}

double memory_mib(std::string_view amount) {
  constexpr std::string_view units = "KMGT";
  const auto unit = units.find(amount.empty() ? 'K' : amount.back());
  const auto number = amount.substr(0, amount.find_first_not_of("0123456789"));
  const double count = static_cast<double>(parse_number<std::int64_t>(number).value_or(0));
  return std::ldexp(count, unit == std::string_view::npos ? 0 : 10 * (static_cast<int>(unit) - 1));
}

}  // namespace dllaunch

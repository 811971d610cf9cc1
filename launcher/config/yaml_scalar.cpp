#include "launcher/config/yaml_scalar.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>

#include "support/json.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view digits = "0123456789";

bool all_of(std::string_view text, std::string_view letters) {
  return !text.empty() && text.find_first_not_of(letters) == std::string_view::npos;
}

std::optional<std::int64_t> integer(std::string_view text, int radix) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, radix);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  if (text.starts_with("0x") && all_of(text.substr(2), "0123456789abcdefABCDEF")) {
    return integer(text.substr(2), 16);
  }
  if (text.starts_with("0o") && all_of(text.substr(2), "01234567")) {
    return integer(text.substr(2), 8);
  }
  if (text.starts_with('+') && all_of(text.substr(1), digits)) text.remove_prefix(1);
  if (!all_of(text.starts_with('-') ? text.substr(1) : text, digits)) return std::nullopt;
  return integer(text, 10);
}

/// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool looks_like_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t exponent = text.find_first_of("eE");
  std::string_view mantissa = text.substr(0, exponent);
  if (exponent != std::string_view::npos) {
    std::string_view power = text.substr(exponent + 1);
    if (power.starts_with('-') || power.starts_with('+')) power.remove_prefix(1);
    if (!all_of(power, digits)) return false;
  }
  const std::size_t point = mantissa.find('.');
  if (point == std::string_view::npos) return all_of(mantissa, digits);
  const std::string_view whole = mantissa.substr(0, point);
  const std::string_view fraction = mantissa.substr(point + 1);
  if (whole.empty()) return all_of(fraction, digits);
  return all_of(whole, digits) && (fraction.empty() || all_of(fraction, digits));
}

std::optional<double> number(std::string_view text) {
  if (!looks_like_number(text)) return std::nullopt;
  if (text.starts_with('+')) text.remove_prefix(1);
  return parse_number<double>(text);
}

}  // namespace

Json scalar_value(const YamlNode& node) {
  if (node.kind == YamlKind::null) return nullptr;
  const std::string& text = node.text;
  if (!node.plain) return text;
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    return nullptr;
  }
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  if (const auto whole = whole_number(text)) return *whole;
  if (const auto real = number(text)) return *real;
  return text;
}

}  // namespace dllaunch

#include "launcher/config/yaml_text.hpp"

#include <yaml-cpp/emitter.h>

#include <fmt/core.h>
#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include "support/json.hpp"

namespace dllaunch {
namespace {

/// Whether a word can stay unquoted: it begins with a letter and means nothing else in YAML 1.1 or
/// 1.2.
bool is_plain(const std::string& text) {
  static const std::set<std::string, std::less<>> reserved = {
      "null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"};
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text[0])) == 0) return false;
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return reserved.count(lower) == 0 && std::ranges::all_of(text, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                  std::string_view("_-./").find(c) != std::string_view::npos;
         });
}

void emit(YAML::Emitter& out, const Json& value) {
  if (value.is_object()) {
    if (value.empty()) out << YAML::Flow;
    out << YAML::BeginMap;
    for (const auto& [key, entry] : value.items()) {
      out << YAML::Key;
      emit(out, key);
      out << YAML::Value;
      emit(out, entry);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    const bool structured =
        std::ranges::any_of(value, [](const Json& item) { return item.is_structured(); });
    if (!structured) out << YAML::Flow;
    out << YAML::BeginSeq;
    for (const auto& item : value) emit(out, item);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    const auto text = value.get<std::string>();
    if (!is_plain(text)) out << YAML::DoubleQuoted;
    out << text;
  } else if (value.is_null()) {
    out << YAML::Null;
  } else if (value.is_boolean()) {
    out << value.get<bool>();
  } else {
    out << value.dump();  // JSON and YAML write numbers alike
  }
}

}  // namespace

std::string to_yaml(const Json& value) {
  YAML::Emitter out;
  out.SetNullFormat(YAML::LowerNull);
  emit(out, value);
  return std::string(out.c_str()) + "\n";
}

}  // namespace dllaunch

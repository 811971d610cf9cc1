#include "launcher/config/schema_scalar.hpp"

#include <fmt/core.h>
#include <regex.h>

#include <algorithm>
#include <map>
#include <vector>

#include "launcher/base/utf8.hpp"
#include "launcher/config/yaml_scalar.hpp"

namespace dllaunch {
namespace {

/// Not std::regex: it recurses per character and overflows the stack on long text.
class Pattern {
 public:
  explicit Pattern(const std::string& text)
      : good_(regcomp(&compiled_, text.c_str(), REG_EXTENDED | REG_NOSUB) == 0) {}
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern() {
    if (good_) regfree(&compiled_);
  }

  bool found_in(const std::string& text) const {
    return good_ && regexec(&compiled_, text.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t compiled_ = {};
  bool good_;
};

bool within_bounds(const Json& schema, const Json& value) {
  if (schema.contains("minimum") && value < schema["minimum"]) return false;
  if (schema.contains("exclusiveMinimum") && value <= schema["exclusiveMinimum"]) return false;
  if (schema.contains("exclusiveMaximum") && value >= schema["exclusiveMaximum"]) return false;
  return !schema.contains("maximum") || value <= schema["maximum"];
}

bool fits_text(const Json& schema, const std::string& text) {
  // The text ends up in C strings, which a NUL would cut short.
  if (text.find('\0') != std::string::npos) return false;
  const auto length = static_cast<std::size_t>(characters_in(text));
  if (length < schema.value("minLength", std::size_t{0})) return false;
  if (schema.contains("maxLength") && length > schema["maxLength"].get<std::size_t>()) return false;
  return !schema.contains("pattern") || matches(schema["pattern"], text);
}

std::optional<Json> accept_by_type(const Json& schema, const YamlNode& node, Json value) {
  if (value.is_null()) return schema_allows(schema, "null") ? std::optional(value) : std::nullopt;
  const bool number_allowed = schema_allows(schema, "number");
  const bool fits =
      (value.is_string() && schema_allows(schema, "string")) ||
      (value.is_boolean() && schema_allows(schema, "boolean")) ||
      (value.is_number_integer() && (number_allowed || schema_allows(schema, "integer"))) ||
      (value.is_number_float() && number_allowed);
  if (!fits) return std::nullopt;
  if (value.is_number() && !within_bounds(schema, value)) return std::nullopt;
  if (schema_allows(schema, "string")) value = node.text;
  if (value.is_string() && !fits_text(schema, value)) return std::nullopt;
  return value;
}

std::string join(const std::vector<std::string>& words, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? last : ", ";
    text += words[i];
  }
  return text;
}

std::string with_bounds(const Json& schema, const std::string& noun) {
  const auto bound = [&](const char* key) { return schema[key].dump(); };
  if (schema.contains("minimum") && schema.contains("maximum")) {
    return fmt::format("{} from {} to {}", noun, bound("minimum"), bound("maximum"));
  }
  if (schema.contains("minimum") && schema.contains("exclusiveMaximum")) {
    return fmt::format("{} from {} to less than {}", noun, bound("minimum"),
                       bound("exclusiveMaximum"));
  }
  if (schema.contains("minimum")) return fmt::format("{} of at least {}", noun, bound("minimum"));
  if (schema.contains("exclusiveMinimum")) {
    return fmt::format("{} above {}", noun, bound("exclusiveMinimum"));
  }
  if (schema.contains("maximum")) return fmt::format("{} of at most {}", noun, bound("maximum"));
  return noun;
}

/// The description of an array of one type.
std::string list_of(const Json& schema) {
  const Json items = schema.value("items", Json::object());
  if (items.value("type", Json()) == "string") return "a list of text";
  if (!schema_allows(items, "number") || !items.contains("type")) return "a list";
  const auto count = schema.value("maxItems", std::size_t{0});
  std::string text = count == 0 ? "a list of numbers" : fmt::format("a list of {} numbers", count);
  const std::string bounded = with_bounds(items, "");
  return bounded.empty() ? text : text + ", each" + bounded;
}

}  // namespace

bool schema_allows(const Json& schema, std::string_view type) {
  const auto types = schema.find("type");
  if (types == schema.end()) return true;
  if (types->is_string()) return *types == type;
  return std::find(types->begin(), types->end(), type) != types->end();
}

std::optional<Json> accept_scalar(const Json& schema, const YamlNode& node) {
  if (schema.contains("anyOf")) {
    for (const Json& alternative : schema["anyOf"]) {
      if (auto value = accept_scalar(alternative, node)) return value;
    }
    return std::nullopt;
  }
  auto value = accept_by_type(schema, node, scalar_value(node));
  if (!value) return std::nullopt;
  if (schema.contains("const") && *value != schema["const"]) return std::nullopt;
  if (const auto words = schema.find("enum"); words != schema.end()) {
    if (std::find(words->begin(), words->end(), *value) == words->end()) return std::nullopt;
  }
  return value;
}

const Json& form_for(const Json& schema, const YamlNode& node) {
  const bool block = node.kind == YamlKind::mapping;
  if (!schema.contains("anyOf") || (!block && node.kind != YamlKind::sequence)) return schema;
  for (const Json& form : schema["anyOf"]) {
    if (form.contains(block ? "properties" : "items")) return form;
  }
  return schema;
}

bool matches(const std::string& pattern, const std::string& text) {
  // A schema has a dozen patterns and is walked for every built-in profile, and compiling one costs
  // more than a walk. One cache per thread, because regexec locks what it shares.
  thread_local std::map<std::string, Pattern, std::less<>> known;
  const auto& compiled = known.try_emplace(pattern, pattern).first->second;
  return compiled.found_in(text);
}

std::vector<std::string> words_of(const Json& schema) {
  std::vector<std::string> words;
  for (const Json& word : schema.value("enum", Json::array())) {
    if (word.is_string()) words.push_back(word);
  }
  for (const Json& alternative : schema.value("anyOf", Json::array())) {
    for (std::string& word : words_of(alternative)) words.push_back(std::move(word));
  }
  return words;
}

std::string describe(const Json& schema) {
  if (schema.contains("x-expected")) return schema["x-expected"];
  std::vector<std::string> ways;
  if (schema.contains("anyOf")) {
    for (const Json& alternative : schema["anyOf"]) ways.push_back(describe(alternative));
    return join(ways, " or ");
  }
  if (const auto words = words_of(schema); !words.empty()) {
    return words.size() > 2 ? "one of " + join(words, ", ") : join(words, " or ");
  }
  if (!schema.contains("type")) return "anything";
  if (schema_allows(schema, "integer")) ways.push_back(with_bounds(schema, "a whole number"));
  if (schema_allows(schema, "number")) ways.push_back(with_bounds(schema, "a number"));
  if (schema_allows(schema, "boolean")) ways.emplace_back("true or false");
  if (schema_allows(schema, "string")) ways.emplace_back("text");
  if (schema_allows(schema, "array")) ways.push_back(list_of(schema));
  if (schema_allows(schema, "object")) ways.emplace_back("a block of keys");
  return join(ways, " or ");
}

}  // namespace dllaunch

#include "launcher/config/schema_walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "launcher/base/nearest_name.hpp"
#include "launcher/base/utf8.hpp"
#include "launcher/config/schema_scalar.hpp"
#include "launcher/config/yaml_scalar.hpp"

namespace dllaunch {
namespace {

std::string below(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

std::string what_is_there(const YamlNode& node) {
  switch (node.kind) {
    case YamlKind::null:
      return "nothing";
    case YamlKind::scalar:
      return in_quotes(node.text);
    case YamlKind::sequence:
      return "a list";
    case YamlKind::mapping:
      return "a block of keys";
  }
  return "";
}

/// Whether only the quotes make the value wrong: unquoted, it would be a fitting number or boolean.
bool fits_unquoted(const Json& schema, const YamlNode& node) {
  if (node.kind != YamlKind::scalar || node.plain || node.text.empty()) return false;
  YamlNode bare = node;
  bare.plain = true;
  return accept_scalar(schema, bare).has_value();
}

/// A suggested correction, if the value allows one.
std::string suggestion(const Json& schema, const YamlNode& node) {
  if (node.kind != YamlKind::scalar) return "";
  const Json value = scalar_value(node);
  const bool is_text = value.is_string();
  const bool fits = !schema.contains("pattern") || matches(schema["pattern"], node.text);
  if (!is_text && schema.contains("type") && schema_allows(schema, "string") && fits &&
      words_of(schema).empty()) {
    return "; write it in quotes";
  }
  if (is_text && schema_allows(schema, "array") && schema.contains("type") &&
      !schema_allows(schema, "string")) {
    return fmt::format("; write [{}]", printable(node.text.substr(0, 60)));
  }
  const auto words = words_of(schema);
  if (const auto near = nearest_name(node.text, words)) {
    return fmt::format("; did you mean '{}'?", *near);
  }
  return "";
}

}  // namespace

Json SchemaWalk::complete(const Json& schema, const YamlNode& root) {
  return value(schema, "", root);
}

std::vector<YamlProblem> SchemaWalk::problems() && {
  std::ranges::stable_sort(problems_, [](const auto& a, const auto& b) {
    return std::tie(a.mark.source, a.mark.line, a.mark.column) <
           std::tie(b.mark.source, b.mark.line, b.mark.column);
  });
  return std::move(problems_);
}

void SchemaWalk::report(const Mark& mark, std::string message) {
  problems_.push_back({mark, std::move(message)});
}

Json SchemaWalk::value(const Json& all_forms, const std::string& path, const YamlNode& node) {
  const Json& schema = form_for(all_forms, node);
  const bool is_block = schema.contains("properties") || schema.contains("additionalProperties");
  // A block whose keys are all commented out is null in YAML, and means an empty block. If null is
  // the default, it means that the block is absent.
  const bool null_is_absent = schema.contains("default") && schema["default"].is_null();
  if (is_block &&
      (node.kind == YamlKind::mapping || (node.kind == YamlKind::null && !null_is_absent))) {
    return block(schema, path, node);
  }
  if (node.kind == YamlKind::sequence && schema.contains("items")) return list(schema, path, node);
  return scalar(schema, path, node);
}

Json SchemaWalk::absent(const Json& schema) {
  if (schema.contains("default")) return schema["default"];
  if (!schema.contains("properties")) return nullptr;
  Json result = Json::object();
  for (const auto& [name, property] : schema["properties"].items()) {
    result[name] = absent(property);
  }
  return result;
}

Json SchemaWalk::block(const Json& schema, const std::string& path, const YamlNode& node) {
  static const Json none = Json::object();
  const auto found_properties = schema.find("properties");
  const Json& properties = found_properties == schema.end() ? none : *found_properties;
  report_duplicates(path, node);

  std::map<std::string, const YamlEntry*> given;
  for (const YamlEntry& entry : node.entries) given.emplace(entry.key, &entry);

  Json result = Json::object();
  for (const auto& [name, property] : properties.items()) {
    const auto found = given.find(name);
    result[name] = found == given.end() ? absent(property)
                                        : entry(property, below(path, name), *found->second);
  }
  const auto others = schema.find("additionalProperties");
  for (const YamlEntry& other : node.entries) {
    if (properties.contains(other.key)) continue;
    if (others == schema.end() || !others->is_object()) continue;
    check_name(schema, other);
    result[other.key] = entry(*others, below(path, other.key), other);
  }
  for (const Json& name : schema.value("required", Json::array())) {
    if (given.contains(name.get<std::string>())) continue;
    report(node.mark,
           fmt::format("required key '{}' is missing", below(path, name.get<std::string>())));
  }
  choose(path, node, properties, result);
  return result;
}

/// Handles keys that exist only for some values of another key in the block.
void SchemaWalk::choose(const std::string& path, const YamlNode& node, const Json& properties,
                        Json& result) {
  for (const auto& [name, property] : properties.items()) {
    const auto rule = property.find("x-by");
    if (rule == property.end()) continue;
    const Json& word = result[(*rule)["key"].get<std::string>()];
    if (!word.is_string()) continue;  // reported already
    const auto given = std::ranges::find_if(
        node.entries, [&key = name](const YamlEntry& entry) { return entry.key == key; });
    const auto initial = (*rule)["defaults"].find(word.get<std::string>());
    const bool has = initial != (*rule)["defaults"].end();
    const bool absent = given == node.entries.end() || given->value->kind == YamlKind::null;
    if (absent) {
      result[name] = has ? *initial : Json();
      const Json& needed = (*rule)["needed"];
      if (std::ranges::find(needed, word) == needed.end()) continue;
      report(node.mark,
             fmt::format("required key '{}' is missing: {} {} needs it", below(path, name),
                         (*rule)["key"].get<std::string>(), word.get<std::string>()));
    } else if (!has) {
      std::vector<std::string> known;
      for (const auto& [other, schema] : properties.items()) {
        const auto its = schema.find("x-by");
        if (its != schema.end() && (*its)["defaults"].contains(word.get<std::string>())) {
          known.push_back(other);
        }
      }
      report(given->mark,
             fmt::format("{} {} has no key '{}'{}{}", (*rule)["key"].get<std::string>(),
                         word.get<std::string>(), name, known.empty() ? "" : "; it has ",
                         fmt::join(known, ", ")));
    }
  }
}

Json SchemaWalk::entry(const Json& schema, const std::string& path, const YamlEntry& entry) {
  if (entry.value->kind != YamlKind::mapping) return value(schema, path, *entry.value);
  // A missing key is reported where the block begins: at the block's key.
  YamlNode block = *entry.value;
  block.mark = entry.mark;
  return value(schema, path, block);
}

Json SchemaWalk::list(const Json& schema, const std::string& path, const YamlNode& node) {
  Json result = Json::array();
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    result.push_back(value(schema["items"], fmt::format("{}[{}]", path, i), *node.items[i]));
  }
  const std::size_t size = node.items.size();
  if (size < schema.value("minItems", std::size_t{0}) || size > schema.value("maxItems", size)) {
    report(node.mark, fmt::format("{} must be {}, got {}", path, describe(schema),
                                  size == 0 ? "an empty list" : fmt::format("a list of {}", size)));
  }
  return result;
}

Json SchemaWalk::scalar(const Json& schema, const std::string& path, const YamlNode& node) {
  if (node.kind == YamlKind::scalar || node.kind == YamlKind::null) {
    if (auto value = accept_scalar(schema, node)) return *std::move(value);
  }
  const std::string got =
      fits_unquoted(schema, node)
          ? fmt::format("the text {}; write it without quotes", what_is_there(node))
          : what_is_there(node) + suggestion(schema, node);
  report(node.mark,
         fmt::format("{} must be {}, got {}", path.empty() ? whole_ : path, describe(schema), got));
  return nullptr;
}

void SchemaWalk::check_name(const Json& schema, const YamlEntry& entry) {
  if (!schema.contains("propertyNames")) return;
  const Json& names = schema["propertyNames"];
  if (matches(names["pattern"], entry.key)) return;
  report(entry.mark, fmt::format("{} is not {}", in_quotes(entry.key), describe(names)));
}

void SchemaWalk::report_duplicates(const std::string& path, const YamlNode& node) {
  std::map<std::string, int> first_lines;
  for (const YamlEntry& entry : node.entries) {
    const auto [first, fresh] = first_lines.emplace(entry.key, entry.mark.line);
    if (fresh) continue;
    report(entry.mark, fmt::format("key {} is given twice, first in line {}",
                                   in_quotes(below(path, entry.key)), first->second));
  }
}

}  // namespace dllaunch

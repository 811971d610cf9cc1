// Checks a YAML tree against a JSON Schema: every problem with its position, and the completed
// value.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "launcher/config/yaml_tree.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// Supports these keywords: type (one or a list), enum, const, minimum, exclusiveMinimum, maximum,
/// exclusiveMaximum, minLength, maxLength, pattern (the subset that ECMAScript and POSIX share),
/// items, minItems, maxItems, properties, required, additionalProperties, propertyNames.pattern,
/// anyOf of scalars, at most one block and at most one list, default, and "x-expected", a
/// description of the expected value. Extensions to JSON Schema:
///   - a missing block is an empty one, so the result has every default, in schema order;
///   - if both text and numbers or booleans are allowed, the result is the text as written;
///   - "x-by": {key, defaults, needed}: this key exists only for the words of `key` (in the same
///     block) that have a default there, which may be null; for the words in `needed` it is
///     required.
class SchemaWalk {
 public:
  explicit SchemaWalk(std::string whole = "a job file") : whole_(std::move(whole)) {}

  /// Passes over unknown keys: correct_keys() reports them.
  Json complete(const Json& schema, const YamlNode& root);

  /// Sorted by position.
  std::vector<YamlProblem> problems() &&;

 private:
  Json value(const Json& all_forms, const std::string& path, const YamlNode& node);
  Json absent(const Json& schema);
  Json block(const Json& schema, const std::string& path, const YamlNode& node);
  Json list(const Json& schema, const std::string& path, const YamlNode& node);
  Json entry(const Json& schema, const std::string& path, const YamlEntry& entry);
  void choose(const std::string& path, const YamlNode& node, const Json& properties, Json& result);
  Json scalar(const Json& schema, const std::string& path, const YamlNode& node);
  void check_name(const Json& schema, const YamlEntry& entry);
  void report_duplicates(const std::string& path, const YamlNode& node);
  void report(const Mark& mark, std::string message);

  std::string whole_;  // name of the whole document, for messages
  std::vector<YamlProblem> problems_;
};

}  // namespace dllaunch

#include "launcher/job/short_forms.hpp"

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "launcher/base/utf8.hpp"
#include "launcher/config/schema_scalar.hpp"
#include "launcher/job/short_values.hpp"
#include "launcher/job/yaml_keys.hpp"
#include "support/parse_number.hpp"

namespace dllaunch {
namespace {

/// {key: value} in place of the value.
void wrap(YamlNode& node, const std::string& key) {
  auto value = std::make_shared<YamlNode>(node);
  YamlNode block;
  block.kind = YamlKind::mapping;
  block.mark = node.mark;
  block.entries.push_back({key, node.mark, std::move(value)});
  node = std::move(block);
}

bool is_short(const Json& schema, const YamlNode& node) {
  if (!schema.contains(short_keyword)) return false;
  const bool word = schema_allows(schema, "string") || schema_allows(schema, "integer");
  return (node.kind == YamlKind::scalar && word) ||
         (node.kind == YamlKind::sequence && schema_allows(schema, "array"));
}

/// Visits the blocks of the schema that the file has as one word or a list.
void expand_blocks(const Json& schema, YamlNode& node) {
  if (!schema.contains("properties")) return;
  if (is_short(schema, node)) wrap(node, schema[short_keyword].get<std::string>());
  for (YamlEntry& entry : node.entries) {
    const auto property = schema["properties"].find(entry.key);
    if (property == schema["properties"].end() || !property->contains("properties")) continue;
    entry.value = std::make_shared<YamlNode>(*entry.value);  // anchors share values
    expand_blocks(*property, *entry.value);
  }
}

/// NAME: VALUE of "NAME=VALUE"; nullopt if it is not one.
std::optional<YamlEntry> variable_of(const YamlNode& item) {
  const auto equals = item.text.find('=');
  if (item.kind != YamlKind::scalar || equals == std::string::npos) return std::nullopt;
  auto value = std::make_shared<YamlNode>(item);
  value->text = item.text.substr(equals + 1);
  value->plain = false;  // text, even if it is empty or looks like a number
  const int quote = item.plain ? 0 : 1;
  value->mark.column += quote + characters_in(item.text.substr(0, equals + 1));
  return YamlEntry{item.text.substr(0, equals), item.mark, std::move(value)};
}

void expand_variables(YamlNode& list, std::vector<YamlProblem>& problems) {
  YamlNode block;
  block.kind = YamlKind::mapping;
  block.mark = list.mark;
  for (const YamlPointer& item : list.items) {
    if (auto variable = variable_of(*item)) {
      block.entries.push_back(*std::move(variable));
      continue;
    }
    const std::string got = item->kind == YamlKind::scalar ? in_quotes(item->text) : "a block";
    problems.push_back({item->mark, fmt::format("environment.variables: a list takes NAME=VALUE "
                                                "items, got {}",
                                                got)});
  }
  list = std::move(block);
}

using ShortValue = std::optional<std::string> (*)(std::string_view);

void expand_value(YamlNode& root, std::string_view path, ShortValue full) {
  YamlNode* node = own_value_at(root, path);
  if (node == nullptr || node->kind != YamlKind::scalar) return;
  if (auto text = full(node->text)) node->text = *std::move(text);
}

/// "2-4" nodes are 4, of which 2 are enough.
void expand_node_range(YamlNode& root, std::vector<YamlProblem>& problems) {
  YamlNode* nodes = own_value_at(root, "resources.nodes");
  if (nodes == nullptr || nodes->kind != YamlKind::scalar) return;
  if (!matches(node_range_pattern, nodes->text)) return;
  const auto dash = nodes->text.find('-');
  const auto fewest = nodes->text.substr(0, dash);
  const auto most = nodes->text.substr(dash + 1);
  const Mark mark = nodes->mark;
  if (parse_number<int>(most).value_or(0) < parse_number<int>(fewest).value_or(0))
    return problems.push_back(
        {mark, fmt::format("resources.nodes: {} is more than {}", fewest, most)});
  nodes->text = most;
  nodes->plain = true;
  if (key_at(root, "recovery.min_nodes") == nullptr)
    set_key(root, "recovery.min_nodes", fewest, mark);
}

}  // namespace

std::vector<YamlProblem> expand_short_blocks(const Json& schema, YamlNode& root) {
  std::vector<YamlProblem> problems;
  expand_blocks(schema, root);
  YamlNode* variables = own_value_at(root, "environment.variables");
  if (variables != nullptr && variables->kind == YamlKind::sequence)
    expand_variables(*variables, problems);
  return problems;
}

std::vector<YamlProblem> expand_short_forms(const Json& schema, YamlNode& root) {
  std::vector<YamlProblem> problems = expand_short_blocks(schema, root);
  expand_node_range(root, problems);
  for (const char* key :
       {"resources.time", "resources.switches.wait", "sweep.time", "recovery.hold_on_error"})
    expand_value(root, key, time_of_short);
  for (const char* key : {"per_node", "per_rank", "per_gpu"})
    expand_value(root, fmt::format("resources.memory.{}", key), memory_of_short);
  return problems;
}

}  // namespace dllaunch

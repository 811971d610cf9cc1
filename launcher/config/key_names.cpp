#include "launcher/config/key_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <utility>

#include "launcher/base/nearest_name.hpp"
#include "launcher/base/split.hpp"
#include "launcher/base/utf8.hpp"
#include "launcher/config/schema_scalar.hpp"

namespace dllaunch {
namespace {

std::string path_to(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

/// "cpus_per_task" of "CPUs-per-task".
std::string as_word(std::string_view key) {
  std::string word(key);
  for (char& letter : word)
    letter =
        letter == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return word;
}

/// A key of the schema: "resources" and "nodes".
struct Place {
  std::string block;
  std::string name;
};

/// The first key anywhere below `schema` that `is_it(name, its schema)`.
template <typename Test>
std::optional<Place> find_key(const Json& schema, const std::string& path, const Test& is_it) {
  if (!schema.contains("properties")) return std::nullopt;
  for (const auto& [name, property] : schema["properties"].items()) {
    if (is_it(name, property)) return Place{path, name};
    if (auto deeper = find_key(property, path_to(path, name), is_it)) return deeper;
  }
  return std::nullopt;
}

std::vector<std::string> names_in(const Json& schema) {
  std::vector<std::string> names;
  const Json properties = schema.value("properties", Json::object());
  for (const auto& [name, property] : properties.items()) names.push_back(name);
  return names;
}

bool lists(const Json& schema, const std::string& key) {
  return schema.contains("properties") && schema["properties"].contains(key);
}

/// The schema of the keys that a block takes under any name; null: it lists its keys.
const Json* schema_of_others(const Json& schema) {
  const auto others = schema.find("additionalProperties");
  return others != schema.end() && others->is_object() ? &*others : nullptr;
}

class KeyNames {
 public:
  explicit KeyNames(const Json& schema) : whole_(schema) {}

  std::vector<YamlProblem> correct(YamlNode& root) && {
    visit(whole_, "", root);
    for (auto& [place, entry] : misplaced_) move(root, place, std::move(entry));
    return std::move(problems_);
  }

 private:
  void visit(const Json& all_forms, const std::string& path, YamlNode& node) {
    const Json& schema = form_for(all_forms, node);
    if (node.kind == YamlKind::sequence && schema.contains("items")) {
      for (YamlPointer& item : node.items) visit_value(schema["items"], path + "[]", item);
    }
    const bool is_block = schema.contains("properties") || schema.contains("additionalProperties");
    if (node.kind != YamlKind::mapping || !is_block) return;
    const Json* others = schema_of_others(schema);
    if (others == nullptr) name_keys(schema, path, node);
    for (YamlEntry& entry : node.entries) {
      const Json& own = lists(schema, entry.key) ? schema["properties"][entry.key] : *others;
      visit_value(own, path_to(path, entry.key), entry.value);
    }
  }

  void visit_value(const Json& schema, const std::string& path, YamlPointer& value) {
    if (value->kind != YamlKind::mapping && value->kind != YamlKind::sequence) return;
    value = std::make_shared<YamlNode>(*value);  // anchors share values
    visit(schema, path, *value);
  }

  void name_keys(const Json& schema, const std::string& path, YamlNode& node) {
    std::vector<YamlEntry> kept;
    std::vector<YamlEntry> unknown;
    for (YamlEntry& entry : node.entries)
      (lists(schema, entry.key) ? kept : unknown).push_back(std::move(entry));
    for (YamlEntry& entry : unknown) {
      const auto meant = report(schema, path, entry);
      if (!meant) continue;
      entry.key = meant->name;
      if (meant->block != path)
        misplaced_.emplace_back(*meant, std::move(entry));
      else if (std::ranges::find(kept, entry.key, &YamlEntry::key) == kept.end())
        kept.push_back(std::move(entry));
    }
    node.entries = std::move(kept);
  }

  /// The key that an unknown key probably means. Reports the unknown one.
  std::optional<Place> report(const Json& schema, const std::string& path, const YamlEntry& entry) {
    const auto is_called = [word = as_word(entry.key)](const auto&, const Json& property) {
      const Json also = property.value(also_keyword, Json::array());
      return std::ranges::find(also, Json(word)) != also.end();
    };
    const auto names = names_in(schema);
    std::optional<Place> meant = find_key(whole_, "", is_called);
    std::string hint;
    if (meant) {
      hint = fmt::format("did you mean '{}'?",
                         meant->block == path ? meant->name : path_to(meant->block, meant->name));
    } else if (const auto near = nearest_name(entry.key, names)) {
      meant = Place{path, *near};
      hint = fmt::format("did you mean '{}'?", *near);
    } else if ((meant = find_key(whole_, "", [&](const std::string& name, const auto&) {
                  return name == entry.key;
                }))) {
      hint = meant->block.empty() ? "it belongs to the top of the file"
                                  : fmt::format("it belongs under '{}'", meant->block);
    } else {
      hint = fmt::format("keys here: {}", fmt::join(names, ", "));
    }
    problems_.push_back(
        {entry.mark, fmt::format("unknown key {}; {}", in_quotes(entry.key), hint)});
    return meant;
  }

  /// Puts the entry into a block that the file has: one that it lacks would be incomplete without
  /// its other keys.
  static void move(YamlNode& root, const Place& place, YamlEntry entry) {
    YamlNode* block = &root;
    for (const auto step : split_at(place.block, '.')) {
      if (place.block.empty()) break;
      const auto found = std::ranges::find(block->entries, step, &YamlEntry::key);
      if (found == block->entries.end()) return;
      block = found->value.get();
    }
    const bool given =
        std::ranges::find(block->entries, place.name, &YamlEntry::key) != block->entries.end();
    if (block->kind == YamlKind::mapping && !given) block->entries.push_back(std::move(entry));
  }

  const Json& whole_;
  std::vector<YamlProblem> problems_;
  std::vector<std::pair<Place, YamlEntry>> misplaced_;
};

}  // namespace

std::vector<YamlProblem> correct_keys(const Json& schema, YamlNode& root) {
  return KeyNames(schema).correct(root);
}

}  // namespace dllaunch

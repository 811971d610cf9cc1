#include "launcher/job/components.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "launcher/base/utf8.hpp"
#include "launcher/config/schema_walk.hpp"
#include "launcher/job/job_schema.hpp"
#include "launcher/job/short_forms.hpp"

namespace dllaunch {
namespace {

/// Of the whole job. What parts inherit of these is the same for all.
constexpr std::array<std::string_view, 5> whole_keys = {"name", "cluster", "after", "share",
                                                        "reproducibility"};
/// Other ways to make many jobs of one file.
constexpr std::array<std::string_view, 3> refused_keys = {"array", "study", "sweep"};

/// As many as Slurm starts in one job; each costs a pass over the whole file.
constexpr std::size_t most_components = 128;

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

const YamlEntry* find(const YamlNode& block, std::string_view key) {
  const auto found = std::ranges::find(block.entries, key, &YamlEntry::key);
  return found == block.entries.end() || found->value->kind == YamlKind::null ? nullptr : &*found;
}

/// Keys of the block at `path` of which the part's own word replaces the default of another key.
bool is_replaced(std::string_view path, std::string_view key, const YamlNode& block,
                 const YamlNode& over) {
  const auto has = [&over](std::string_view other) { return find(over, other) != nullptr; };
  if (path.empty()) return (key == "run" && has("train")) || (key == "train" && has("run"));
  if (path == "resources")
    return (key == "gpus" && has("gpus_per_node")) || (key == "gpus_per_node" && has("gpus"));
  if (path != "resources.memory") return false;
  const bool memory = find(block, "per_node") || find(block, "per_rank") || find(block, "per_gpu");
  return memory && (has("per_node") || has("per_rank") || has("per_gpu")) && !has(key);
}

/// `over` on top of `base`, two blocks at `path`.
YamlNode merged(const YamlNode& base, const YamlNode& over, const std::string& path = "") {
  YamlNode result = over;
  for (YamlEntry& entry : result.entries) {
    const YamlEntry* below = find(base, entry.key);
    if (below == nullptr || below->value->kind != YamlKind::mapping) continue;
    if (entry.value->kind == YamlKind::mapping)
      entry.value = std::make_shared<YamlNode>(
          merged(*below->value, *entry.value, path.empty() ? entry.key : path + "." + entry.key));
  }
  for (const YamlEntry& entry : base.entries) {
    const auto own = std::ranges::find(over.entries, entry.key, &YamlEntry::key);
    if (own == over.entries.end() && !is_replaced(path, entry.key, base, over))
      result.entries.push_back(entry);
  }
  return result;
}

Json own_keys() {
  return {{"type", "object"},
          {"required", Json::array({"name"})},
          {"properties",
           {{"name",
             {{"type", "string"},
              {"description",
               "the component's name; DLLAUNCH_COMPONENT_NAME_HOSTS has it in "
               "upper case"},
              {"minLength", 1},
              {"maxLength", 64},
              {"pattern", "^[A-Za-z0-9][A-Za-z0-9_-]*$"},
              {"x-expected", "a component's name of at most 64 letters, digits, - and _"}}},
            {"ends",
             {{"type", "string"},
              {"enum", Json::array({"nothing", "job"})},
              {"description",
               "job: the whole job is over when this component has completed, and "
               "the others are told to stop"},
              {"default", "nothing"}}}}}};
}

bool is_own_key(const std::string& key) {
  return key == "name" || key == "ends";
}

class Splitter {
 public:
  explicit Splitter(const YamlNode& root) : root_(root) {}

  JobParts split() && {
    const YamlEntry& components = *find(root_, "components");
    refuse_other_ways(components);
    take_whole();
    if (components.value->kind != YamlKind::sequence || components.value->items.size() < 2)
      problem(components.value->mark,
              "components must be a list of two blocks or more, as [{name: loader, run: ...}, "
              "{name: trainer, run: ...}]; a job of one part is written without");
    const auto& items = components.value->items;
    if (items.size() > most_components)
      problem(components.value->mark,
              fmt::format("components: at most {}, here are {}", most_components, items.size()));
    for (const YamlPointer& item : std::span(items).first(std::min(items.size(), most_components)))
      take(*item);
    return std::move(parts_);
  }

 private:
  void problem(const Mark& mark, std::string message) {
    parts_.problems.push_back({mark, std::move(message)});
  }

  void refuse_other_ways(const YamlEntry& components) {
    for (const auto key : refused_keys) {
      const YamlEntry* other = find(root_, key);
      if (other == nullptr) continue;
      const bool later = other->mark.line > components.mark.line;
      problem(later ? other->mark : components.mark,
              fmt::format("components and {} do not combine: remove one of them", key));
    }
  }

  void take_whole() {
    parts_.whole = root_;
    parts_.whole.entries.clear();
    defaults_ = parts_.whole;
    for (const YamlEntry& entry : root_.entries) {
      if (is_among(whole_keys, entry.key)) parts_.whole.entries.push_back(entry);
      if (entry.key != "name" && entry.key != "components" && entry.key != "reproducibility" &&
          !is_among(refused_keys, entry.key))
        defaults_.entries.push_back(entry);
    }
    for (auto& one : expand_short_forms(job_schema(), defaults_)) parts_.problems.push_back(one);
    const YamlEntry* name = find(root_, "name");
    if (name != nullptr) whole_name_ = name->value->text;
  }

  void take(const YamlNode& item) {
    if (item.kind != YamlKind::mapping) {
      problem(item.mark, "components: each is a block such as {name: trainer, run: ...}");
      return;
    }
    YamlNode own = item;
    own.entries.clear();
    YamlNode keys = own;
    for (const YamlEntry& entry : item.entries) {
      const bool misplaced = entry.key != "name" &&
                             (is_among(whole_keys, entry.key) || is_among(refused_keys, entry.key));
      if (misplaced || entry.key == "components")
        problem(entry.mark, fmt::format("{} is a key of the whole job, not of a component: write "
                                        "it at the top of the file",
                                        entry.key));
      else
        (is_own_key(entry.key) ? own : keys).entries.push_back(entry);
    }
    SchemaWalk walk("a component");
    const auto said = walk.complete(own_keys(), own);
    auto wrong = std::move(walk).problems();
    const bool good = wrong.empty();
    std::move(wrong.begin(), wrong.end(), std::back_inserter(parts_.problems));
    if (good) check_name(said["name"], *find(own, "name"));
    for (auto& one : expand_short_forms(job_schema(), keys)) parts_.problems.push_back(one);
    auto root = merged(defaults_, keys);
    const std::string name = good ? said["name"].get<std::string>() : "?";
    root.entries.push_back(text_entry("name", whole_name_ + "-" + name, item.mark));
    parts_.parts.push_back({name, good && said["ends"] == "job", std::move(root)});
  }

  /// Two names may differ and name the same variables.
  void check_name(const std::string& name, const YamlEntry& entry) {
    const auto [earlier, fresh] = names_.emplace(variable_word(name), name);
    if (fresh) return;
    problem(
        entry.value->mark,
        earlier->second == name
            ? fmt::format("two components have the name {}", in_quotes(name))
            : fmt::format("{} and {} have the same variables DLLAUNCH_COMPONENT{}...: rename "
                          "one of them",
                          in_quotes(earlier->second), in_quotes(name), "_" + earlier->first + "_"));
  }

  const YamlNode& root_;
  YamlNode defaults_;
  std::string whole_name_;
  std::map<std::string, std::string> names_;  // by their variable's word
  JobParts parts_;
};

}  // namespace

bool has_components(const YamlNode& root) {
  return find(root, "components") != nullptr;
}

JobParts split_components(const YamlNode& root) {
  return Splitter(root).split();
}

Json component_schema(const Json& job_schema) {
  Json schema = own_keys();
  schema["additionalProperties"] = false;
  for (const auto& [name, property] : job_schema["properties"].items()) {
    if (name == "components" || is_among(whole_keys, name) || is_among(refused_keys, name))
      continue;
    schema["properties"][name] = property;
  }
  return schema;
}

std::string variable_word(std::string name) {
  for (char& letter : name)
    letter =
        letter == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return name;
}

}  // namespace dllaunch

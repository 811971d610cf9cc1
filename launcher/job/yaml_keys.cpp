#include "launcher/job/yaml_keys.hpp"

#include <algorithm>
#include <memory>

namespace dllaunch {
namespace {

std::string_view first_step(std::string_view path) {
  return path.substr(0, path.find('.'));
}

std::string_view further_steps(std::string_view path) {
  const auto dot = path.find('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
}

/// Anchors let several keys share a node.
YamlNode& unshared(YamlPointer& value) {
  value = std::make_shared<YamlNode>(*value);
  return *value;
}

YamlEntry* last_entry(YamlNode& block, std::string_view key) {
  const auto end = block.entries.rend();
  const auto found = std::ranges::find(block.entries.rbegin(), end, key, &YamlEntry::key);
  return found == end ? nullptr : &*found;
}

}  // namespace

const YamlEntry* key_at(const YamlNode& root, std::string_view path) {
  const auto end = root.entries.rend();
  const auto found =
      std::ranges::find(root.entries.rbegin(), end, first_step(path), &YamlEntry::key);
  if (found == end) return nullptr;
  const auto rest = further_steps(path);
  return rest.empty() ? &*found : key_at(*found->value, rest);
}

std::string_view text_at(const YamlNode& root, std::string_view path) {
  const YamlEntry* entry = key_at(root, path);
  return entry == nullptr ? std::string_view() : std::string_view(entry->value->text);
}

YamlNode* own_value_at(YamlNode& root, std::string_view path) {
  YamlEntry* entry = last_entry(root, first_step(path));
  if (entry == nullptr) return nullptr;
  YamlNode& value = unshared(entry->value);
  const auto rest = further_steps(path);
  return rest.empty() ? &value : own_value_at(value, rest);
}

void set_key(YamlNode& root, std::string_view path, std::string text, const Mark& mark) {
  if (root.kind == YamlKind::null) root.kind = YamlKind::mapping;
  if (root.kind != YamlKind::mapping) return;
  const auto key = first_step(path);
  YamlEntry* entry = last_entry(root, key);
  if (entry == nullptr) {
    auto nothing = std::make_shared<YamlNode>();
    nothing->mark = mark;
    root.entries.push_back({std::string(key), mark, std::move(nothing)});
    entry = &root.entries.back();
  }
  const auto rest = further_steps(path);
  if (!rest.empty()) return set_key(unshared(entry->value), rest, std::move(text), mark);
  entry->value = std::make_shared<YamlNode>();
  entry->value->kind = YamlKind::scalar;
  entry->value->mark = mark;
  entry->value->text = std::move(text);
  entry->value->plain = true;
}

}  // namespace dllaunch

#include "launcher/init/job_draft.hpp"

#include <algorithm>
#include <string_view>

#include "launcher/base/split.hpp"
#include "launcher/base/utf8.hpp"
#include "launcher/config/yaml_text.hpp"

namespace dllaunch {
namespace {

/// Whether a text can stand as a YAML block: only such blocks keep every character.
bool is_block_text(const std::string& text) {
  if (text.find('\n') == std::string::npos) return false;
  return std::ranges::all_of(split_lines(text), [](std::string_view line) {
    std::string visible(line);
    std::erase(visible, '\t');
    return printable(visible) == visible;
  });
}

std::string block_of(const std::string& text, const std::string& indent) {
  const std::string inner = indent + "  ";
  const bool begins_with_blank = text.starts_with(' ') || text.starts_with('\n');
  std::string block = begins_with_blank ? "|2\n" : "|\n";
  for (const auto line : split_lines(text))
    block += (line.empty() ? "" : inner + std::string(line)) + "\n";
  return block;
}

std::string line_of_key(const DraftKey& key, const std::string& indent) {
  std::string text;
  if (!key.comment.empty()) text += indent + "# " + printable(key.comment) + "\n";
  text += indent + key.key + ":";
  if (key.value.is_string() && is_block_text(key.value.get<std::string>()))
    return text + " " + block_of(key.value.get<std::string>(), indent);
  const std::string value = to_yaml(key.value);
  if (!key.value.is_object() || key.value.empty()) return text + " " + value;
  text += "\n";
  for (const auto line : split_lines(value)) text += indent + "  " + std::string(line) + "\n";
  return text;
}

std::string lines_of_block(const std::string& name, const std::vector<DraftKey>& keys) {
  if (keys.empty()) return "";
  std::string text = name + ":\n";
  for (const DraftKey& key : keys) text += line_of_key(key, "  ");
  return text;
}

}  // namespace

std::string render_draft(const JobDraft& draft) {
  std::string text;
  for (const std::string& line : draft.head) text += "# " + printable(line) + "\n";
  text += line_of_key({.key = "name", .value = draft.name}, "");
  text += lines_of_block("resources", draft.resources);
  text += lines_of_block("environment", draft.environment);
  for (const DraftKey& key : draft.other) text += line_of_key(key, "");
  return text;
}

std::string for_cluster(std::string text, const std::string& cluster) {
  if (cluster.empty()) return text;
  const auto name = text.starts_with("name:") ? 0 : text.find("\nname:") + 1;
  return text.insert(text.find('\n', name) + 1, line_of_key({"cluster", cluster}, ""));
}

}  // namespace dllaunch

#include "launcher/init/script_words.hpp"

#include <algorithm>

#include "launcher/slurm/slurm_options.hpp"

namespace dllaunch {
namespace {

void add_node(const lint::Node& node, std::set<std::string>& names);

void add_parts(const std::vector<lint::Part>& parts, std::set<std::string>& names) {
  for (const lint::Part& part : parts) {
    if (part.kind == lint::PartKind::variable) names.insert(part.text);
    names.insert(part.names.begin(), part.names.end());
    add_parts(part.operand, names);
    if (part.body) add_node(*part.body, names);
  }
}

void add_node(const lint::Node& node, std::set<std::string>& names) {
  names.insert(node.names.begin(), node.names.end());
  for (const auto& word : node.words) add_parts(word.parts, names);
  for (const auto& redirection : node.redirections) add_parts(redirection.target.parts, names);
  for (const auto& document : node.documents) add_parts(document.parts, names);
  for (const auto& assignment : node.assignments) {
    add_parts(assignment.value.parts, names);
    for (const auto& element : assignment.elements) add_parts(element.parts, names);
  }
  for (const auto& child : node.children) add_node(child, names);
}

}  // namespace

std::string bytes_of(const lint::Word& word) {
  std::string bytes;
  for (const lint::Part& part : word.parts)
    bytes += part.kind == lint::PartKind::text ? part.text : std::string(1, unknown_piece);
  return bytes;
}

bool is_known(std::string_view bytes) {
  return bytes.find(unknown_piece) == std::string_view::npos;
}

std::set<std::string> names_read_in(const lint::Node& node) {
  std::set<std::string> names;
  add_node(node, names);
  return names;
}

bool has_own_lines(std::string_view script, const lint::Node& node) {
  const auto before = script.substr(0, node.begin).find_last_not_of(" \t");
  const auto after = script.find_first_not_of(" \t", node.end);
  return (before == std::string_view::npos || script[before] == '\n') &&
         (after == std::string_view::npos || script[after] == '\n' || script[after] == '#');
}

std::string lines_without(std::string_view script, std::size_t begin, std::size_t end,
                          std::span<const lint::Node* const> commands) {
  std::string text;
  for (const lint::Node* command : commands) {
    text += script.substr(begin, command->begin - begin);
    text.resize(text.find_last_not_of(" \t") + 1);  // its own line's indent
    begin = std::min(script.find('\n', command->end), end - 1) + 1;
  }
  return text + std::string(script.substr(begin, end - begin));
}

}  // namespace dllaunch

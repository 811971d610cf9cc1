#include "launcher/init/script_words.hpp"

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

}  // namespace dllaunch

#include "launcher/init/leading_environment.hpp"

#include <algorithm>
#include <string_view>

#include "launcher/init/script_words.hpp"

namespace dllaunch {
namespace {

/// Whether bash takes the text as it is: it expands nothing.
bool is_plain(std::string_view text) {
  return is_known(text) && text.find_first_of("*?[~") == std::string_view::npos;
}

bool take_exports(const std::vector<lint::Assignment>& assignments, LeadingEnvironment& found) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const auto& assignment : assignments) {
    const std::string value = bytes_of(assignment.value);
    const bool whole = !assignment.append && !assignment.indexed && !assignment.array;
    if (!whole || !is_known(value) || value.find_first_of("~\n") != std::string::npos) return false;
    variables.emplace_back(assignment.name, value);
  }
  found.variables.insert(found.variables.end(), variables.begin(), variables.end());
  return true;
}

/// Conda's own bin/activate defines the function that `conda activate` calls.
bool mentions_conda(std::string_view script) {
  return script.find("conda") != std::string_view::npos ||
         script.find("mamba") != std::string_view::npos;
}

/// `source ~/venv/bin/activate`, unless what stands before it would come after it.
bool take_venv(const lint::Node& node, LeadingEnvironment& found) {
  constexpr std::string_view file = "/bin/activate";
  const auto& parts = node.words[1].parts;
  const std::string path = bytes_of(node.words[1]);
  const bool at_home = path.starts_with("~/") && !parts[0].quoted;
  const bool sets_path = std::ranges::any_of(
      found.variables, [](const auto& variable) { return variable.first == "PATH"; });
  if (!path.ends_with(file) || !is_plain(path.substr(at_home ? 1 : 0)) || sets_path ||
      !found.activate.empty())
    return false;
  found.activate = path.substr(0, path.size() - file.size());
  return true;
}

bool take(std::string_view script, const lint::Node& node, LeadingEnvironment& found) {
  std::vector<std::string> words;
  for (const lint::Word& word : node.words) words.push_back(bytes_of(word));
  if (words == std::vector<std::string>{"export"}) return take_exports(node.assignments, found);
  if (words.size() < 2 || !node.assignments.empty()) return false;
  if (words.size() == 2 && (words[0] == "source" || words[0] == "."))
    return !mentions_conda(script) && take_venv(node, found);
  if (words[0] != "module" || !found.activate.empty() || !std::ranges::all_of(words, is_plain))
    return false;
  if (words.size() == 2 && words[1] == "purge") return true;
  if (words.size() == 2 || words[1] != "load") return false;
  found.modules.insert(found.modules.end(), words.begin() + 2, words.end());
  return true;
}

}  // namespace

LeadingEnvironment read_leading_environment(std::string_view script, std::size_t begin,
                                            std::span<const lint::Node* const> commands,
                                            std::span<const lint::Node* const> passed) {
  LeadingEnvironment found{.end = begin};
  bool passes = false;
  for (const lint::Node* node : commands) {
    if (std::ranges::find(passed, node) != passed.end()) {
      passes = true;
      continue;
    }
    if (node->kind != lint::NodeKind::command || !node->redirections.empty() || node->background ||
        (passes && !has_own_lines(script, *node)) || !take(script, *node, found))
      break;
    if (passes)
      found.in_rest.push_back(node);
    else
      found.end = node->end;
  }
  return found;
}

}  // namespace dllaunch

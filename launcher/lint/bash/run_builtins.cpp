#include <algorithm>
#include <array>

#include "launcher/lint/bash/programs.hpp"
#include "launcher/lint/bash/shell_runner.hpp"

namespace dllaunch::lint {
namespace {

bool is_option(const Text& word) {
  return word.bytes().size() > 1 && word.bytes()[0] == '-';
}

/// Whether a file only sets up a tool, not the script's own variables.
bool is_setup_file(const Text& word) {
  if (word.bytes().starts_with("/etc/")) return true;
  static const std::array<std::string_view, 17> known = {
      "activate",     ".bashrc",     "bashrc",  ".bash_profile", ".profile",      "profile",
      "conda.sh",     "mamba.sh",    "bash",    "modules.sh",    "lmod.sh",       "setvars.sh",
      "setup-env.sh", "z00_lmod.sh", "init.sh", "bash_profile",  "z00_modules.sh"};
  return std::ranges::find(known, base_name(word)) != known.end();
}

/// eval "$(conda shell.bash hook)" and its like.
bool is_setup_output(const Text& text) {
  static const std::array<std::string_view, 8> tools = {"conda", "mamba",  "module",    "lmod",
                                                        "spack", "direnv", "ssh-agent", "pyenv"};
  for (const Text::Mark& mark : text.marks()) {
    const bool known = std::ranges::any_of(
        tools, [&](std::string_view tool) { return mark.name.find(tool) != std::string::npos; });
    if (!known) return false;
  }
  return true;
}

}  // namespace

/// nullopt if the command is not one that changes the shell.
std::optional<bool> ShellRunner::run_builtin(const Node& node, const std::vector<Text>& words) {
  const std::string& name = words[0].bytes();
  if (name == "exit") ++exits_;
  if (name == "exit" || name == "return") return false;
  if (name == "break" || name == "continue") return loops_ == 0;
  if (name == "set") {
    run_set(words);
    return true;
  }
  if (name == "source" || name == ".") {
    run_source(words);
    return true;
  }
  if (name == "unset") {
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (is_option(words[i]) || !words[i].known()) continue;
      Value value;
      value.set = false;
      variables_.set(words[i].bytes(), std::make_shared<const Value>(std::move(value)));
    }
    return true;
  }
  if (name == "read" || name == "mapfile" || name == "readarray" || name == "getopts" ||
      name == "let" || (name == "printf" && words.size() > 2 && words[1].bytes() == "-v")) {
    run_assigning(words);
    return true;
  }
  if (name == "eval") {
    Text text;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (i > 1) text.add(" ", words[i].source(0));
      text.append(words[i]);
    }
    if (!text.known() && !is_setup_output(text)) run_.sources_files = true;
    return run_text(text, per_rank_);
  }
  if (name == "trap" && words.size() > 2) {
    const Text& handler = words[1];
    walk_handler(handler);
    if (keeps(words)) {
      run_.commands.push_back({words, where(node.begin), where(node.end)});
    }
    return true;
  }
  return std::nullopt;
}

/// A handler may run at any time, so variables it changes become unknown.
void ShellRunner::walk_handler(const Text& handler) {
  const std::size_t mark = variables_.mark();
  run_text(handler, per_rank_);
  variables_.roll_back(mark);
}

/// export A=1 B, declare -x A, local a=1, readonly C=2.
void ShellRunner::run_declaration(const Node& node, const std::vector<Text>& words) {
  const std::string& command = words[0].bytes();
  bool exports = command == "export";
  bool computes = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!is_option(words[i])) continue;
    exports = exports || words[i].bytes().find('x') != std::string::npos;
    if (command == "export" && words[i].bytes() == "-n") exports = false;
    computes = computes || words[i].bytes().find_first_of("in") != std::string::npos;
  }
  const bool local = command == "local" || (command == "declare" && !arguments_.empty());
  const auto keep = [&](const std::string& name) {
    if (local && !locals_.empty()) locals_.back().try_emplace(name, variables_.find(name));
  };
  for (const Assignment& assignment : node.assignments) {
    keep(assignment.name);
    assign(assignment, exports);
    if (computes && command != "export") forget(assignment.name);
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& name = words[i].bytes();
    if (!is_name(name)) continue;
    keep(name);
    const ValuePtr before = variables_.find(name);
    if (exports && before) {
      Value value = *before;
      value.exported = true;
      variables_.set(name, std::make_shared<const Value>(std::move(value)));
      const auto last = std::find_if(run_.assignments.rbegin(), run_.assignments.rend(),
                                     [&](const Assigned& seen) { return seen.name == name; });
      if (last != run_.assignments.rend()) last->exported = true;
    } else if (local) {
      variables_.set(name, std::make_shared<const Value>());
    }
  }
}

void ShellRunner::run_set(const std::vector<Text>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i].bytes();
    if (word == "--") return;
    if (word.size() > 1 && word[0] == '-' && word[1] != '-') {
      if (word.find('u') != std::string::npos) run_.nounset = true;
    }
    if (word == "nounset" && words[i - 1].bytes() == "-o") run_.nounset = true;
  }
}

void ShellRunner::run_source(const std::vector<Text>& words) {
  if (words.size() > 1 && !is_setup_file(words[1])) run_.sources_files = true;
}

/// Handles commands whose words name the variables they set.
void ShellRunner::run_assigning(const std::vector<Text>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string name(leading_name(words[i].bytes()));
    if (!name.empty()) forget(name);
  }
}

bool ShellRunner::call_function(const Function& function, const std::vector<Text>& words) {
  called_.insert(function.body);
  if (calls_ >= most_calls) return true;
  ++calls_;
  arguments_.emplace_back(words.begin() + 1, words.end());
  locals_.emplace_back();
  const std::size_t returned = exits_;
  const InFrame inside(*this, function.frame);
  const bool goes_on = walk(*function.body);
  for (const auto& [name, before] : locals_.back()) variables_.set(name, before);
  locals_.pop_back();
  arguments_.pop_back();
  --calls_;
  return goes_on || exits_ == returned;
}

}  // namespace dllaunch::lint

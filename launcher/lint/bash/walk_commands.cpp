#include <algorithm>

#include "launcher/lint/bash/shell_runner.hpp"

namespace dllaunch::lint {
namespace {

/// The names that a command sets without `=`: read a b, mapfile x, printf -v x, getopts o x.
void names_set_by_words(const Node& node, std::set<std::string>& names) {
  if (node.words.empty() || node.words[0].parts.empty()) return;
  const std::string& command = node.words[0].parts[0].text;
  const bool reads = command == "read" || command == "mapfile" || command == "readarray" ||
                     command == "getopts" || command == "printf" || command == "let" ||
                     command == "declare" || command == "local" || command == "typeset";
  if (!reads) return;
  for (std::size_t i = 1; i < node.words.size(); ++i) {
    for (const Part& part : node.words[i].parts) {
      const std::string name(leading_name(part.text));
      if (part.kind == PartKind::text && !name.empty()) names.insert(name);
    }
  }
}

}  // namespace

void assigned_names(const Node& node, std::set<std::string>& names) {
  for (const Assignment& assignment : node.assignments) names.insert(assignment.name);
  names.insert(node.names.begin(), node.names.end());
  if (node.kind == NodeKind::each && !node.name.empty()) names.insert(node.name);
  if (node.kind == NodeKind::command) names_set_by_words(node, names);
  for (const Node& child : node.children) assigned_names(child, names);
}

ShellRun run_shell(const ShellTree& tree, std::string_view script) {
  return ShellRunner(tree, script).run();
}

ShellRunner::ShellRunner(const ShellTree& tree, std::string_view script)
    : tree_(tree), script_(script) {
  assigned_names(tree.root, run_.assigned);
}

ShellRun ShellRunner::run() {
  walk(tree_.root);
  run_unseen_functions();
  return std::move(run_);
}

/// Walks signal handlers, and functions that only another file calls: any variable may have
/// changed.
void ShellRunner::run_unseen_functions() {
  const auto functions = functions_;
  for (const auto& [name, function] : functions) {
    if (called_.contains(function.body)) continue;
    for (const std::string& variable : run_.assigned) forget(variable);
    unseen_ = true;
    arguments_.clear();
    const InFrame inside(*this, function.frame);
    walk(*function.body);
  }
}

bool ShellRunner::walk_all(const std::vector<Node>& nodes) {
  return std::ranges::all_of(nodes, [this](const Node& node) { return walk(node); });
}

bool ShellRunner::walk(const Node& node) {
  if (++steps_ > most_steps) return false;
  if (node.background) {
    const bool outer = background_;
    background_ = true;
    const std::size_t mark = variables_.mark();
    walk_foreground(node);
    variables_.roll_back(mark);
    background_ = outer;
    return true;
  }
  return walk_foreground(node);
}

bool ShellRunner::walk_foreground(const Node& node) {
  switch (node.kind) {
    case NodeKind::command:
      return run_command(node);
    case NodeKind::sequence:
      return walk_all(node.children);
    case NodeKind::group:
      keep_documents(node);
      return walk_all(node.children);
    case NodeKind::and_or:
      return walk_and_or(node);
    case NodeKind::subshell:
    case NodeKind::pipeline:
      keep_documents(node);
      for (const Node& child : node.children) walk_aside(child);
      return true;
    case NodeKind::choice:
      return walk_choice(node);
    case NodeKind::cases:
      return walk_cases(node);
    case NodeKind::loop:
    case NodeKind::each:
      return walk_loop(node);
    case NodeKind::function:
      if (!node.children.empty()) functions_[node.name] = {&node.children[0], frame_};
      return true;
  }
  return true;
}

/// Walks a subshell: its changes are lost.
void ShellRunner::walk_aside(const Node& node) {
  const std::size_t mark = variables_.mark();
  walk(node);
  variables_.roll_back(mark);
}

bool ShellRunner::walk_choice(const Node& node) {
  std::vector<Variables::Changes> ways;
  const std::size_t begin = variables_.mark();
  std::size_t i = 0;
  bool conditions_end = true;
  for (; i + 1 < node.children.size(); i += 2) {
    conditions_end = walk(node.children[i]);
    if (!conditions_end) break;
    const std::size_t mark = variables_.mark();
    if (walk(node.children[i + 1])) ways.push_back(variables_.changes_since(begin));
    variables_.roll_back(mark);
  }
  if (conditions_end) {
    const bool has_else = i < node.children.size();
    if (!has_else || walk(node.children[i])) ways.push_back(variables_.changes_since(begin));
  }
  variables_.roll_back(begin);
  variables_.join(ways);
  return !ways.empty();
}

bool ShellRunner::walk_cases(const Node& node) {
  for (const Word& word : node.words) expand(word);
  const std::size_t mark = variables_.mark();
  std::vector<Variables::Changes> ways = {{}};
  for (const Node& arm : node.children) {
    if (walk(arm)) ways.push_back(variables_.changes_since(mark));
    variables_.roll_back(mark);
  }
  variables_.join(ways);
  return true;
}

/// Commands after && or || may be skipped.
bool ShellRunner::walk_and_or(const Node& node) {
  if (!walk(node.children[0])) return false;
  for (std::size_t i = 1; i < node.children.size(); ++i) {
    const Node& before = node.children[i - 1];
    const bool only_assigns = before.kind == NodeKind::command && before.words.empty();
    if (only_assigns && node.joints[i - 1] == "&&") {
      if (!walk(node.children[i])) return false;
      continue;
    }
    const std::size_t mark = variables_.mark();
    std::vector<Variables::Changes> ways = {{}};
    if (walk(node.children[i])) ways.push_back(variables_.changes_since(mark));
    variables_.roll_back(mark);
    variables_.join(ways);
  }
  return true;
}

bool ShellRunner::walk_loop(const Node& node) {
  std::vector<Text> items;
  for (const Word& word : node.words) {
    for (Text& item : expand(word)) items.push_back(std::move(item));
  }
  std::set<std::string> changed;
  assigned_names(node, changed);
  for (const std::string& name : changed) forget(name);
  const std::size_t mark = variables_.mark();
  if (node.kind == NodeKind::each && items.size() == 1 && items[0].known() && !node.name.empty()) {
    Value value;
    value.text = items[0];
    store(node.name, std::move(value));
  }
  ++loops_;
  std::vector<Variables::Changes> ways = {{}};
  if (walk_all(node.children)) ways.push_back(variables_.changes_since(mark));
  --loops_;
  variables_.roll_back(mark);
  variables_.join(ways);
  return true;
}

void ShellRunner::store(const std::string& name, Value value) {
  if (const ValuePtr before = variables_.find(name)) {
    value.exported = value.exported || before->exported;
  }
  variables_.set(name, std::make_shared<const Value>(std::move(value)));
}

/// Sets the value to unknown.
void ShellRunner::forget(const std::string& name) {
  const ValuePtr before = variables_.find(name);
  variables_.set(
      name, unknown_value(name, before ? before->text.source(0) : 0, before && before->exported));
}

}  // namespace dllaunch::lint

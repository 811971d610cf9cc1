#include "launcher/init/meeting_lines.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "launcher/init/script_words.hpp"

namespace dllaunch {
namespace {

/// What dllaunch sets for each rank, whatever the script says.
bool is_set_for_ranks(std::string_view name) {
  return name == "MASTER_ADDR" || name == "MASTER_PORT";
}

/// NAME=... or export NAME=...
bool only_assigns(const lint::Node& node) {
  const bool exports = node.words.size() == 1 && bytes_of(node.words[0]) == "export";
  return node.kind == lint::NodeKind::command && (node.words.empty() || exports) &&
         !node.assignments.empty() && node.redirections.empty() && !node.background;
}

/// Follows host names from one variable to the next.
class Meeting {
 public:
  explicit Meeting(std::string_view script) : script_(script) {}

  bool finds_hosts(const lint::Node& node) {
    if (!only_assigns(node) || !has_own_lines(script_, node)) return false;
    const auto all = [&node](const auto& holds) {
      return std::ranges::all_of(node.assignments, holds, &lint::Assignment::name);
    };
    const auto read = names_read_in(node);
    const bool follows =
        std::ranges::any_of(read, [this](const auto& name) { return hosts_.contains(name); });
    const auto text = script_.substr(node.begin, node.end - node.begin);
    if (!all(is_set_for_ranks) && !follows && text.find("hostname") == std::string_view::npos)
      return false;
    for (const auto& assignment : node.assignments) hosts_.insert(assignment.name);
    return true;
  }

 private:
  std::string_view script_;
  std::set<std::string> hosts_;
};

bool is_needed(const lint::Node& node, const std::set<std::string>& read) {
  return std::ranges::any_of(node.assignments, [&](const lint::Assignment& assignment) {
    const bool handed_on = !node.words.empty() && !is_set_for_ranks(assignment.name);
    return handed_on || read.contains(assignment.name);
  });
}

}  // namespace

std::vector<const lint::Node*> meeting_lines(std::string_view script,
                                             std::span<const lint::Node* const> commands) {
  Meeting meeting(script);
  std::vector<const lint::Node*> found;
  std::set<std::string> read;  // by commands that stay
  for (const lint::Node* node : commands) {
    if (meeting.finds_hosts(*node)) {
      found.push_back(node);
      continue;
    }
    read.merge(names_read_in(*node));
    for (const auto& word : node->words) read.insert(bytes_of(word));  // export NAME
  }
  std::vector<const lint::Node*> unread;
  for (auto node = found.rbegin(); node != found.rend(); ++node) {
    if (is_needed(**node, read))
      read.merge(names_read_in(**node));
    else
      unread.insert(unread.begin(), *node);
  }
  return unread;
}

}  // namespace dllaunch

// The ids that dllaunch prints, with what they mean: from the tables of the code that prints them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

struct ExplainedId {
  std::string_view kind;  // "lint rule"
  std::string id;
  std::string meaning;
  std::string cause;
  std::string remedy;  // empty: nothing to do
};

/// All of them, kind by kind.
std::vector<ExplainedId> explained_ids();

/// Those called `id`, ignoring case: two kinds may use one word. Knows the exit codes of signals
/// and Slurm's reasons too, which are too many to list.
std::vector<ExplainedId> explain_id(const std::string& id);

}  // namespace dllaunch

// Somebody's sbatch script, read as bash and sbatch would, and everything that is wrong with it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/lint/rule.hpp"

namespace dllaunch::lint {

/// Any bytes are a script. In the order of the script; no finding twice.
std::vector<Finding> lint(std::string_view text, const Surroundings& around);

struct Place {
  std::size_t line = 1;    // 1-based
  std::size_t column = 1;  // 1-based, in characters
};

/// Where an offset stands; inside the text, whatever the offset.
class Places {
 public:
  explicit Places(std::string_view text);
  Place of(std::size_t at) const;

 private:
  std::string_view text_;
  std::vector<std::size_t> lines_;  // where each begins
};

/// "FILE:LINE:COLUMN: error: MESSAGE; FIX [ID]", one a line.
std::string render_findings(const std::string& file, std::string_view text,
                            const std::vector<Finding>& findings, bool color);
/// {"file", "findings": [...], "errors", "warnings"}, indented, with a newline; "diff" where there
/// is one.
std::string findings_json(const std::string& file, std::string_view text,
                          const std::vector<Finding>& findings, const std::string& diff);

/// The script with every edit of `findings` made that does not touch an earlier one.
std::string apply_edits(std::string_view text, const std::vector<Finding>& findings);
/// Edits until no finding has any: lint() finds nothing more that it could correct.
std::string corrected(std::string_view text, const Surroundings& around);

/// docs/lint.md.
std::string render_rules_markdown();

}  // namespace dllaunch::lint

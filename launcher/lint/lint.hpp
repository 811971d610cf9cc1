// Checks an sbatch script the way bash and sbatch read it, and corrects what it can.
// Runs nothing, and does not know the user's cluster beyond Surroundings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/lint/rule.hpp"

namespace dllaunch::lint {

/// The findings in script order, without duplicates. Accepts any bytes.
std::vector<Finding> lint(std::string_view text, const Surroundings& around);

struct Place {
  std::size_t line = 1;    // 1-based
  std::size_t column = 1;  // 1-based, in characters
};

/// Converts offsets to lines and columns. Offsets beyond the end are clamped.
class Places {
 public:
  explicit Places(std::string_view text);
  Place of(std::size_t at) const;

 private:
  std::string_view text_;
  std::vector<std::size_t> lines_;  // start offset of each
};

/// "FILE:LINE:COLUMN: error: MESSAGE; FIX [ID]", one per line.
std::string render_findings(const std::string& file, std::string_view text,
                            const std::vector<Finding>& findings, bool color);
/// {"file", "findings": [...], "errors", "warnings"}, indented, with a final newline; "diff" if
/// given.
std::string findings_json(const std::string& file, std::string_view text,
                          const std::vector<Finding>& findings, const std::string& diff);

/// The script with the edits of `findings` applied, except those that overlap earlier ones.
std::string apply_edits(std::string_view text, const std::vector<Finding>& findings);
/// The script, edited until lint() finds nothing more that it can correct.
std::string corrected(std::string_view text, const Surroundings& around);

/// The text of docs/how-to/lint.md.
std::string render_rules_markdown();

}  // namespace dllaunch::lint

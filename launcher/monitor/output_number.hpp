// Where a number stands in the output of a program.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "launcher/monitor/line_pattern.hpp"
#include "support/result.hpp"

namespace dllaunch {

class OutputNumber {
 public:
  /// An extended regular expression, or a path into lines that are a JSON object: "$.speed.mean",
  /// "$.losses[0]", "$.losses[-1]" for the last one. bad_request: neither.
  static Result<OutputNumber> compile(const std::string& text);

  /// The number's text; nullopt: the line has none.
  std::optional<std::string> in(const std::string& line) const;

 private:
  using Step = std::variant<std::string, int>;  // a key, or a place in an array
  OutputNumber() = default;
  static Result<std::vector<Step>> path_of(const std::string& text);

  std::optional<LinePattern> pattern_;
  std::vector<Step> path_;
};

}  // namespace dllaunch

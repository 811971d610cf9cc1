// A pattern that lines are searched for, as grep -E does.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "support/result.hpp"

namespace dllaunch {

class LinePattern {
 public:
  /// bad_request: not an extended regular expression of POSIX.
  static Result<LinePattern> compile(const std::string& expression);

  bool matches(const std::string& line) const;
  /// The text of the first (group) where the line matches, of the whole match without a group;
  /// nullopt: no match, or the group took no part in it.
  std::optional<std::string> part_of(const std::string& line) const;

 private:
  struct Compiled;
  explicit LinePattern(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace dllaunch

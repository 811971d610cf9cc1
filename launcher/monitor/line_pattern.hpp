// A pattern that lines are searched for, as grep -E does.
#pragma once

#include <memory>
#include <string>

#include "support/result.hpp"

namespace dllaunch {

class LinePattern {
 public:
  /// bad_request: not an extended regular expression of POSIX.
  static Result<LinePattern> compile(const std::string& expression);

  bool matches(const std::string& line) const;

 private:
  struct Compiled;
  explicit LinePattern(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace dllaunch

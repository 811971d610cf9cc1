#include "launcher/monitor/line_pattern.hpp"

#include <regex.h>

#include <array>
#include <utility>

namespace dllaunch {

// std::regex recurses once a character: a long line would overflow the stack.
struct LinePattern::Compiled {
  regex_t expression{};
  bool valid = false;

  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    if (valid) regfree(&expression);
  }
};

Result<LinePattern> LinePattern::compile(const std::string& expression) {
  auto compiled = std::make_shared<Compiled>();
  const int code = regcomp(&compiled->expression, expression.c_str(), REG_EXTENDED);
  compiled->valid = code == 0;
  if (compiled->valid) return LinePattern(std::move(compiled));
  std::array<char, 128> why{};
  regerror(code, &compiled->expression, why.data(), why.size());
  return Error{ErrorKind::bad_request,
               "'" + expression + "' is not a regular expression: " + why.data(),
               "write \\ before a special character that is meant literally"};
}

bool LinePattern::matches(const std::string& line) const {
  return regexec(&compiled_->expression, line.c_str(), 0, nullptr, 0) == 0;
}

std::optional<std::string> LinePattern::part_of(const std::string& line) const {
  std::array<regmatch_t, 2> found{};
  if (regexec(&compiled_->expression, line.c_str(), found.size(), found.data(), 0) != 0)
    return std::nullopt;
  const auto& part = found[compiled_->expression.re_nsub > 0 ? 1 : 0];
  if (part.rm_so < 0) return std::nullopt;
  return line.substr(static_cast<std::size_t>(part.rm_so),
                     static_cast<std::size_t>(part.rm_eo - part.rm_so));
}

}  // namespace dllaunch

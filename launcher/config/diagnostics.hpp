// Errors in a configuration file, with their positions.
#pragma once

#include <span>
#include <string>

namespace dllaunch {

struct Diagnostic {
  std::string file;     // as the user wrote it; "--set" for an override
  int line = 0;         // 1-based
  int column = 0;       // 1-based
  std::string message;  // "unknown key 'nodez'; did you mean 'nodes'?"
  std::string source;   // the offending line, without its newline
};

/// "FILE:LINE:COLUMN: error: MESSAGE", the line and a caret under the column, for each problem.
std::string render(std::span<const Diagnostic> problems, bool color);

}  // namespace dllaunch

// The process that keeps staged copies on the nodes. It is a child of the batch script, and of the
// supervisor that replaces it. It removes the copies when its input is closed.
#pragma once

#include <sys/types.h>

#include <string>

#include "support/result.hpp"

namespace dllaunch {

class StageHolder {
 public:
  /// Parses "11:4711": the descriptor of the holder's input and its pid; empty: no holder. The
  /// descriptor is not inherited by programs started later. bad_request: not a pipe.
  static Result<StageHolder> from(const std::string& text);

  /// For a child, which must not keep the input open.
  void close_input() const;
  /// Closes the input and waits up to a minute for the holder to exit.
  void let_go() const;

 private:
  int input_ = -1;
  pid_t pid_ = 0;
};

}  // namespace dllaunch

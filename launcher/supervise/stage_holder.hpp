// The process that keeps staged copies on the nodes. It is a child of the batch script, and of the
// supervisor that replaces it. It removes the copies when its input is closed.
#pragma once

#include <sys/types.h>

#include <string>

#include "support/result.hpp"

namespace dllaunch {

class StageHolder {
 public:
  /// "11:4711", the number of the descriptor that is its input and its process; empty: nobody.
  /// From here on no program that we start has the input. bad_request: it is no pipe.
  static Result<StageHolder> from(const std::string& words);

  /// In a child, which is not to hold it open.
  void close_input() const;
  /// Closes the input and gives the holder a minute.
  void let_go() const;

 private:
  int input_ = -1;
  pid_t pid_ = 0;
};

}  // namespace dllaunch

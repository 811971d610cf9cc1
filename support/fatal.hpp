// The end of a rank that cannot go on: device lost, peer dead, library broken.
#pragma once

#include <string_view>

namespace dllaunch {

/// A call site. std::source_location would do, but clang 14 (and its clang-tidy) lack it.
struct Here {
  const char* file;
  int line;
  static constexpr Here now(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

constexpr int fatal_exit_code = 70;

/// Prints "rank 3 on n1: WHAT: WHY (file:line)" to stderr and leaves with fatal_exit_code at once,
/// running no destructors: an MPI in an unknown state must not be finalised.
[[noreturn]] void die(std::string_view what, std::string_view why, Here here = Here::now());

/// Leaves with fatal_exit_code when so much time has passed, whatever this thread waits for then.
void leave_within(unsigned seconds);

/// Who die() speaks for; set once by main, before threads start.
void set_fatal_identity(int rank, std::string_view host);

}  // namespace dllaunch

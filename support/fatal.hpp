// Ends a rank that cannot continue: a device is lost, a peer is dead, a library is broken.
#pragma once

#include <string_view>

namespace dllaunch {

/// A call site. Replaces std::source_location, which clang 14 (and its clang-tidy) lacks.
struct Here {
  const char* file;
  int line;
  static constexpr Here now(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

constexpr int fatal_exit_code = 70;

/// Prints "rank 3 on n1: WHAT: WHY (file:line)" to stderr and exits with fatal_exit_code at once.
/// Runs no destructors: an MPI in an unknown state must not be finalized.
[[noreturn]] void die(std::string_view what, std::string_view why, Here here = Here::now());

/// Exits with fatal_exit_code after `seconds`, even if this thread blocks meanwhile.
void leave_within(unsigned seconds);

/// Sets the rank and host that die() names. main calls it once, before threads start.
void set_fatal_identity(int rank, std::string_view host);

}  // namespace dllaunch

// What others see of this process: the kernel shows environment and command line from its memory.
#pragma once

#include <string_view>

namespace dllaunch {

/// Clears what /proc/self/environ shows: who looks for ranks by their environment does not find
/// this process. It keeps the variables that were set since it began, and must read no others.
void hide_environment();

/// Replaces the command line, cut to its length. `name`: for ps, at most 15 characters.
void show_as(std::string_view title, const char* name);

}  // namespace dllaunch

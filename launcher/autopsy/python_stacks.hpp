// Stacks of Python threads.
// Python's own faulthandler writes them into a memory file when it gets autopsy_signal(). The
// ranks' shim arms it through a sitecustomize.py: no program is needed, no permission to trace, and
// it answers while a C function holds the GIL. Where it is not armed, py-spy is asked if it is
// there.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/autopsy/stacks.hpp"
#include "launcher/os/system.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// SIGRTMIN + 13. Ends a process without a handler for it.
int autopsy_signal();

/// The text of sitecustomize.py, which arms the faulthandler and then runs the sitecustomize.py
/// that it hides.
std::string_view python_start_file();

/// Whether the process is Python's, by its executable and the libraries that it has mapped.
bool is_python(int pid);

/// Returns the stacks of the process's Python threads, the main thread's first.
/// unavailable: not armed and no py-spy; the message says what would help. timeout.
Result<std::vector<Stack>> read_python_stacks(System& system, int pid,
                                              std::chrono::steady_clock::time_point deadline);

/// faulthandler's text: "Current thread 0x... (most recent call first):\n  File ...". Skips lines
/// that it does not know. Pure, like the next.
std::vector<Stack> parse_faulthandler(std::string_view text);

/// The document of `py-spy dump --json`. bad_request: it is not one.
Result<std::vector<Stack>> parse_py_spy(std::string_view text);

}  // namespace dllaunch

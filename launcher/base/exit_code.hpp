// The exit codes of dllaunch and dllaunch-daemon.
#pragma once

#include <span>

#include "launcher/base/explanation.hpp"

namespace dllaunch {

/// Exit codes that are not errors of dllaunch itself; those follow from ErrorKind (main.cpp).
namespace exit_code {
constexpr int success = 0;
constexpr int job_failed = 1;
constexpr int bad_request = 2;
constexpr int environment = 3;
constexpr int found_problems = 4;
/// Of a command that has saved and wants to go on in another start; by convention (EX_TEMPFAIL).
constexpr int start_again = 75;
constexpr int do_not_requeue = 93;
/// Of a component's supervisor, to the components' owner: the whole job is to be requeued.
constexpr int requeue_whole = 94;
}  // namespace exit_code

/// Every exit code of dllaunch, lowest first; "128+N" is all those of signals.
std::span<const Explanation> exit_codes();

}  // namespace dllaunch

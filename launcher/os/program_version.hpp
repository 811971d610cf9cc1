// The version that a program tells of itself.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "launcher/os/system.hpp"
#include "support/json.hpp"

namespace dllaunch {

/// The first word of `text` that begins with a digit: "slurm-wlm 22.05.8" -> "22.05.8".
std::string version_in(std::string_view text);

/// Returns {found, version, path, why} of a program that has --version.
Json observe_program(System& system, const std::string& name, std::chrono::milliseconds limit);

}  // namespace dllaunch

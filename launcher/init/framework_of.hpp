// Which framework a program uses, by what its text says.
#pragma once

#include <string>
#include <string_view>

namespace dllaunch {

/// The job file's `framework` for the text of a Python program: pytorch for Lightning and
/// Accelerate too; "none" if nothing tells.
std::string framework_of_program(std::string_view text);

}  // namespace dllaunch

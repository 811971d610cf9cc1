// The ids of errors, which -v prints.
#pragma once

#include <span>
#include <string_view>

#include "launcher/base/explanation.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// A row for each ErrorKind, in its order.
std::span<const Explanation> error_kinds();

/// "unsatisfiable"
std::string_view to_string(ErrorKind kind);

}  // namespace dllaunch

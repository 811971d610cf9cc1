// A comparison for a terminal. Pure.
#pragma once

#include <string>

#include "launcher/compare/comparison.hpp"

namespace dllaunch {

std::string render_comparison(const Comparison& comparison);

}  // namespace dllaunch

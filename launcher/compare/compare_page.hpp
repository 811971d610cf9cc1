// A comparison as one HTML page. Pure.
#pragma once

#include "launcher/compare/comparison.hpp"
#include "launcher/drawing/page.hpp"

namespace dllaunch {

/// A section without anything to show is left out.
Page compare_page(const Comparison& comparison);

}  // namespace dllaunch

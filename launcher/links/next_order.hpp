// Which links to measure next. Pure.
#pragma once

#include <optional>

#include "launcher/links/standing.hpp"

namespace dllaunch {

/// The next round of the tournament; then one measurement for each open suspicion, as far as their
/// hosts differ, beside controls: pairs of unsuspected hosts. nullopt: all is clear or proven.
/// Hosts that are out are left out.
std::optional<LinkOrder> next_order(const LinkSurvey& survey, const Standing& standing);

/// Neither direction is proven, and one is open: it was not measured often enough.
bool is_open(const LinkSurvey& survey, const Standing& standing, const Suspicion& suspicion);

}  // namespace dllaunch

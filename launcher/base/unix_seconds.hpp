// The wall clock.
#pragma once

namespace dllaunch {

/// Seconds since 1970, with fractions.
double unix_seconds();

}  // namespace dllaunch

// Numbers for people.
#pragma once

#include <string>

namespace dllaunch {

/// "0:07", "12:30", "1:02:03".
std::string clock_time(double seconds);
/// "12,345"; below 100 with one digit after the point.
std::string rate(double per_second);

}  // namespace dllaunch

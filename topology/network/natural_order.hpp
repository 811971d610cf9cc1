// The order in which people count names: n2 before n10.
#pragma once

#include <string_view>

namespace dllaunch {

/// Whether `a` comes before `b`: numbers inside names compare by value, then by width (n2 before
/// n02), everything else byte by byte. A strict total order.
bool counts_before(std::string_view a, std::string_view b);

}  // namespace dllaunch

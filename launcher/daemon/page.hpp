// The page served at /: templates/daemon.html, compiled in.
#pragma once

#include <string_view>

namespace dllaunch {

/// Returns one file with one script and one style.
std::string_view page_text();

}  // namespace dllaunch

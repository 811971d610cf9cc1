// The page served at /: templates/daemon.html, compiled in.
#pragma once

#include <string_view>

namespace dllaunch {

/// Returns one file with script and style, each marked nonce="@NONCE@" for the
/// Content-Security-Policy.
std::string_view page_text();

}  // namespace dllaunch

// The completion scripts of templates/completion/, as the build embeds them.
#pragma once

#include <string_view>

namespace dllaunch {

std::string_view bash_completion();
std::string_view zsh_completion();
std::string_view fish_completion();

}  // namespace dllaunch

// The words of a parsed script: their bytes, and the variables that they read.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "launcher/lint/bash/shell_tree.hpp"

namespace dllaunch {

/// The bytes of a word; unknown parts are unknown_piece.
std::string bytes_of(const lint::Word& word);

/// Whether the bytes have no unknown part.
bool is_known(std::string_view bytes);

/// The variables that a command and all below it read.
std::set<std::string> names_read_in(const lint::Node& node);

}  // namespace dllaunch

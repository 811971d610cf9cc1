// The words and lines of a parsed script.
#pragma once

#include <set>
#include <span>
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

/// Whether nothing but a comment stands in the command's lines.
bool has_own_lines(std::string_view script, const lint::Node& node);

/// The script between two offsets without the lines of some of its commands, which are in order.
std::string lines_without(std::string_view script, std::size_t begin, std::size_t end,
                          std::span<const lint::Node* const> commands);

}  // namespace dllaunch

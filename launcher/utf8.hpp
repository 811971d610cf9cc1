// Characters of UTF-8 text, and text of strangers made fit for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dllaunch {

/// Bytes of the first character; 0 where the text is empty or does not begin with a whole one.
std::size_t utf8_length(std::string_view text);

/// A byte that belongs to no character counts as one.
int characters_in(std::string_view text);

/// The first `most` bytes or a few less: no character is cut in two.
std::string_view first_bytes(std::string_view text, std::size_t most);

/// 'text', cut after 60 characters, with control characters as \n or \x1b: one line, and no
/// surprise for the terminal.
std::string in_quotes(std::string_view text);

/// The same without quotes and of any length; tabs stay.
std::string printable(std::string_view text);

}  // namespace dllaunch

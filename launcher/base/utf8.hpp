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

/// One character, or a byte that belongs to none, as a terminal may show it. Controls are spelled
/// as JSON does (\n, \u009b), except those below U+0020, which are \x1b like lone bytes. Controls
/// of the direction of text are among them: they make a line read in another order than it has.
std::string visible(std::string_view character);

/// 'text', cut after 60 characters, every one visible(): one line, and no surprise for the
/// terminal.
std::string in_quotes(std::string_view text);

/// The same without quotes and of any length; tabs stay.
std::string printable(std::string_view text);

}  // namespace dllaunch

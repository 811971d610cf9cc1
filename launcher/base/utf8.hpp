// UTF-8 characters, and untrusted text made safe for a terminal.
// Does not know locales, display width or other encodings.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dllaunch {

/// Bytes of the first character; 0 if the text is empty or starts with an invalid one.
std::size_t utf8_length(std::string_view text);

/// The number of characters. An invalid byte counts as one.
int characters_in(std::string_view text);

/// At most the first `most` bytes, without splitting a character.
std::string_view first_bytes(std::string_view text, std::size_t most);

/// One character, or an invalid byte, in a form safe for a terminal. Controls are escaped as in
/// JSON (\n, \u009b); those below U+0020 and lone bytes as \x1b. Bidirectional controls count: they
/// would reorder the line.
std::string visible(std::string_view character);

/// 'text', truncated to 60 characters, each one visible(): a single line, safe for a terminal.
std::string in_quotes(std::string_view text);

/// The same without quotes, of any length; tabs stay.
std::string printable(std::string_view text);

}  // namespace dllaunch

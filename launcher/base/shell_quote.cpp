#include "launcher/base/shell_quote.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <cctype>

namespace dllaunch {
namespace {

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Characters without a special meaning in bash, at any position in a word.
bool needs_no_quotes(char c) {
  return is_letter_or_digit(c) || std::string_view("_@%+=:,./-").find(c) != std::string_view::npos;
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
}

/// $'...': escapes control characters instead of containing them.
std::string ansi_c_quote(std::string_view word) {
  std::string text = "$'";
  for (const char c : word) {
    if (c == '\n')
      text += "\\n";
    else if (c == '\t')
      text += "\\t";
    else if (c == '\'' || c == '\\')
      text += std::string("\\") + c;
    else if (is_control(c))
      text += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    else
      text += c;
  }
  return text + "'";
}

std::string single_quote(std::string_view word) {
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'')
      text += "'\\''";
    else
      text += c;
  }
  return text + "'";
}

/// Blanks in an #SBATCH line.
bool ends_words(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

}  // namespace

std::string shell_quote(std::string_view word) {
  assert(word.find('\0') == std::string_view::npos);
  if (!word.empty() && std::all_of(word.begin(), word.end(), needs_no_quotes))
    return std::string(word);
  if (std::any_of(word.begin(), word.end(), is_control)) return ansi_c_quote(word);
  return single_quote(word);
}

std::string shell_join(std::span<const std::string> argv) {
  std::string text;
  for (const auto& argument : argv) {
    if (!text.empty()) text += ' ';
    text += shell_quote(argument);
  }
  return text;
}

std::string shell_lines(std::span<const std::string> argv, std::size_t command_at,
                        std::string_view indent, const WordWriter& write) {
  std::string text;
  bool after_dashes = false;
  for (std::size_t i = 0; i < argv.size(); ++i) {
    const bool option = i > 0 && i < command_at && argv[i].starts_with('-');
    const bool first_dashes = i > command_at && !after_dashes && argv[i - 1] == "--";
    after_dashes = after_dashes || first_dashes;
    if (option || first_dashes || (i > 0 && i == command_at))
      text += fmt::format(" \\\n{}", indent);
    else if (i > 0)
      text += ' ';
    text += write ? write(i, argv[i]) : shell_quote(argv[i]);
  }
  return text;
}

std::string sbatch_quote(std::string_view argument) {
  assert(argument.find('\n') == std::string_view::npos);
  const auto plain = [](char c) { return needs_no_quotes(c) || c == '[' || c == ']'; };
  if (!argument.empty() && std::all_of(argument.begin(), argument.end(), plain))
    return std::string(argument);
  std::string text = "\"";
  for (const char c : argument) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

std::string escape_file_pattern(std::string_view path) {
  assert(path.find('\\') == std::string_view::npos);
  std::string text;
  for (const char c : path) {
    if (c == '%') text += '%';
    text += c;
  }
  return text;
}

DirectiveWord read_directive_word(std::string_view line, std::size_t begin) {
  DirectiveWord word{.end = begin};
  std::size_t& pos = word.end;
  const auto take = [&](std::size_t at) {
    word.bytes += line[at];
    word.at.push_back(at);
  };
  char quote = '\0';
  for (; pos < line.size() && (quote != '\0' || !ends_words(line[pos])); ++pos) {
    const char c = line[pos];
    if (c == '\\') {
      const bool ends = pos + 1 >= line.size() || (quote == '\0' && ends_words(line[pos + 1]));
      if (!ends) take(++pos);
    } else if (quote != '\0' ? c == quote : (c == '"' || c == '\'')) {
      quote = quote != '\0' ? '\0' : c;
      word.open_quote = pos;
    } else if (c == '#' && quote == '\0') {
      break;
    } else {
      take(pos);
    }
  }
  if (quote == '\0') word.open_quote = std::string_view::npos;
  return word;
}

}  // namespace dllaunch

#include "launcher/report/secrets.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace dllaunch {
namespace {

constexpr std::string_view left_out = "(left out)";

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

bool is_upper(char c) {
  return std::isupper(static_cast<unsigned char>(c)) != 0;
}

bool is_secret_word(std::string_view word) {
  constexpr std::array<std::string_view, 14> words = {
      "token", "tokens", "secret", "secrets", "password", "passwd",     "passphrase",
      "pwd",   "apikey", "key",    "keys",    "auth",     "credential", "credentials"};
  return std::ranges::find(words, word) != words.end();
}

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  return at;
}

/// Where the value that begins at `at` ends. `whole_line`: a YAML value, which may hold blanks.
std::size_t end_of_value(std::string_view text, std::size_t at, bool whole_line) {
  if (at < text.size() && (text[at] == '"' || text[at] == '\'')) {
    const char quote = text[at++];
    while (at < text.size() && text[at] != quote && text[at] != '\n')
      at += text[at] == '\\' && quote == '"' && at + 1 < text.size() ? 2 : 1;
    return std::min(at + 1, text.size());
  }
  const std::string_view ends = whole_line ? "\n,}" : " \t\n,}]\"'";
  return std::min(text.find_first_of(ends, at), text.size());
}

/// Where a block of YAML ends ("|" and the lines below it that stand further in than `indent`).
std::size_t end_of_block(std::string_view text, std::size_t at, std::size_t indent) {
  for (at = std::min(text.find('\n', at), text.size()); at < text.size();) {
    const auto line = text.substr(at + 1, text.substr(at + 1).find('\n'));
    const auto begin = line.find_first_not_of(' ');
    if (begin != std::string_view::npos && begin <= indent) break;
    at += 1 + line.size();
  }
  return at;
}

/// The blanks before the first character of the last line.
std::size_t indent_of_last_line(std::string_view text) {
  const auto line = text.substr(text.rfind('\n') + 1);
  return std::min(line.find_first_not_of(' '), line.size());
}

}  // namespace

bool is_secret_name(std::string_view name) {
  std::string word;
  for (std::size_t i = 0; i <= name.size(); ++i) {
    const bool inside = i < name.size() && std::isalnum(static_cast<unsigned char>(name[i])) != 0;
    // hfToken: a capital after a small letter begins a word.
    const bool begins = inside && !word.empty() && is_upper(name[i]) && !is_upper(name[i - 1]);
    if (!inside || begins) {
      if (is_secret_word(word)) return true;
      word.clear();
    }
    if (inside) word += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return false;
}

std::string without_secrets(std::string_view text) {
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_name_character(text[at])) {
      kept += text[at++];
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_name_character(text[end])) ++end;
    const auto name = text.substr(at, end - at);
    kept += name;
    at = end;
    if (!is_secret_name(name)) continue;
    // A key in quotes: "hf token": value.
    if (end < text.size() && (text[end] == '"' || text[end] == '\'')) ++end;
    const bool option = name.starts_with('-');
    const bool separated = end < text.size() && (text[end] == ':' || text[end] == '=');
    const bool follows = option && end < text.size() && (text[end] == ' ' || text[end] == ',');
    if (!separated && !follows) continue;
    const bool yaml = text[end] == ':';
    const auto value = skip_blanks(text, end + 1);
    const bool block = yaml && value < text.size() && (text[value] == '|' || text[value] == '>');
    const auto after = block ? end_of_block(text, value, indent_of_last_line(kept))
                             : end_of_value(text, value, yaml);
    if (after == value) continue;
    kept += text.substr(at, value - at);
    kept += left_out;
    at = after;
  }
  return kept;
}

}  // namespace dllaunch

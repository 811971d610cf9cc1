#include "launcher/base/secrets.hpp"

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
  constexpr std::array<std::string_view, 13> whole = {
      "key",    "keys",    "pass",          "pwd",   "pat",   "auth", "bearer",
      "cookie", "sshpass", "authorization", "netrc", "oauth", "jwt"};
  constexpr std::array<std::string_view, 14> ends = {
      "token",   "tokens",     "password",    "passwords", "passwd",    "passphrase", "secret",
      "secrets", "credential", "credentials", "apikey",    "secretkey", "accesskey",  "privatekey"};
  return std::ranges::find(whole, word) != whole.end() ||
         std::ranges::any_of(ends, [word](std::string_view end) { return word.ends_with(end); });
}

/// Where the line that `at` is in ends: at a newline, or at one that is written as \n.
std::size_t end_of_line(std::string_view text, std::size_t at) {
  return std::min({text.find('\n', at), text.find("\\n", at), text.size()});
}

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

std::string_view line_at(std::string_view text, std::size_t begin) {
  return text.substr(begin, text.substr(begin).find('\n'));
}

/// Where the lines end that belong to the key of a line: those that stand further in, and items of
/// a list ("- a") that stand as far in.
std::size_t end_of_block(std::string_view text, std::size_t at, std::size_t indent) {
  for (at = std::min(text.find('\n', at), text.size()); at + 1 < text.size();) {
    const auto line = line_at(text, at + 1);
    const auto begin = indent_of(line);
    const bool item = begin == indent && line.substr(begin).starts_with("- ");
    if (begin < line.size() && begin <= indent && !item) break;
    at += 1 + line.size();
  }
  return at;
}

/// Where a value in quotes ends, which begins at `at`, behind its closing quote; `at`: it is in
/// none, or the line ends first.
std::size_t end_of_quoted(std::string_view text, std::size_t at) {
  if (at >= text.size() || (text[at] != '"' && text[at] != '\'')) return at;
  const char quote = text[at];
  for (std::size_t i = at + 1; i < text.size() && text[i] != '\n'; ++i) {
    const bool doubled = text[i] == quote && text.substr(i + 1, 1) == "'";
    if (quote == '"' ? text[i] == '\\' : doubled) {
      ++i;  // an escaped character
    } else if (text[i] == quote) {
      return i + 1;
    }
  }
  return at;
}

/// Whether a value follows the name that ends at `end`. Its separator may stand behind quotes.
bool has_value(std::string_view text, std::size_t end, bool option) {
  while (end < text.size() && (text[end] == '"' || text[end] == '\'' || text[end] == '\\')) ++end;
  while (end < text.size() && text[end] == ' ' && !option) ++end;
  if (end == text.size()) return false;
  const char next = text[end];
  return next == ':' || next == '=' || (option && (next == ' ' || next == ',' || next == '\n'));
}

/// "://user:password@" -> "://(left out)@", and a token that stands for both; "git@" stays.
std::string without_passwords(std::string_view text) {
  std::string kept;
  for (std::size_t at = 0; at < text.size();) {
    const auto mark = text.find("://", at);
    if (mark == std::string_view::npos) return kept.append(text.substr(at));
    const auto begin = mark + 3;
    const auto end = std::min(text.find_first_of(" \t\n\"'", begin), text.size());
    const auto address = text.substr(begin, end - begin);
    const auto host = address.find('@');
    kept += text.substr(at, begin - at);
    at = begin;
    // A path may hold an @, but a user before it has no / unless in a password.
    const auto slash = address.find('/');
    const bool user = host != std::string_view::npos &&
                      (host < slash || address.find(':') < std::min(slash, host));
    if (!user || address.substr(0, host) == "git") continue;
    kept += left_out;
    at = begin + host;
  }
  return kept;
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

std::string without_secrets(std::string_view given) {
  const std::string readable = without_passwords(given);
  const std::string_view text = readable;
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
    const bool option = name.starts_with('-');
    if (!is_secret_name(name) || !has_value(text, at, option)) continue;
    const auto line = text.substr(text.rfind('\n', at) + 1);
    kept += text[at] == ':' || text[at] == '=' ? std::string(1, text[at]) + " " : " ";
    kept += left_out;
    const auto value = text.find_first_not_of("\"'\\:= ,", at);
    const auto quote = text.find_first_not_of(":= ,", at + (text[at] == '"' || text[at] == '\''));
    if (value != std::string_view::npos && quote < value) at = end_of_quoted(text, quote);
    at = end_of_line(text, at);
    if (at < text.size() && text[at] == '\n') at = end_of_block(text, at, indent_of(line));
  }
  return kept;
}

}  // namespace dllaunch

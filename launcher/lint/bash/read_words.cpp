#include <algorithm>
#include <utility>

#include "launcher/lint/bash/shell_reader.hpp"

namespace dllaunch::lint {
namespace {

void add_text(std::vector<Part>& parts, std::string_view bytes, std::size_t begin, bool quoted) {
  if (!parts.empty()) {
    Part& last = parts.back();
    const bool continues = last.kind == PartKind::text && last.quoted == quoted &&
                           last.end == begin && last.text.size() == last.end - last.begin;
    if (continues && !bytes.empty()) {
      last.text += bytes;
      last.end += bytes.size();
      return;
    }
  }
  Part part;
  part.quoted = quoted;
  part.begin = begin;
  part.end = begin + bytes.size();
  part.text = bytes;
  parts.push_back(std::move(part));
}

bool is_special_parameter(char c) {
  return std::string_view("@*#?-$!").find(c) != std::string::npos;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The byte that \c means in $'...'; 0 if it is not a single-letter escape.
char ansi_escape(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'e':
    case 'E':
      return '\x1b';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    default:
      return '\0';
  }
}

}  // namespace

bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_name_byte(char c) {
  return is_name_start(c) || is_digit(c);
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

bool is_meta(char c) {
  return is_blank(c) || std::string_view("\n;&|<>()").find(c) != std::string_view::npos;
}

bool is_name(std::string_view text) {
  return !text.empty() && is_name_start(text.front()) && std::ranges::all_of(text, is_name_byte);
}

std::string_view leading_name(std::string_view text) {
  if (text.empty() || !is_name_start(text.front())) return {};
  std::size_t end = 1;
  while (end < text.size() && is_name_byte(text[end])) ++end;
  return text.substr(0, end);
}

std::vector<std::string> names_in(std::string_view arithmetic) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < arithmetic.size();) {
    if (!is_name_byte(arithmetic[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < arithmetic.size() && is_name_byte(arithmetic[end])) ++end;
    if (is_name_start(arithmetic[i])) names.emplace_back(arithmetic.substr(i, end - i));
    i = end;
  }
  return names;
}

Word ShellReader::read_word() {
  Word word;
  word.begin = pos_;
  while (!done()) {
    const char c = here();
    const bool substitutes = (c == '<' || c == '>') && at(pos_ + 1) == '(';
    if (is_meta(c) && !substitutes) {
      const bool pattern =
          c == '(' && pos_ > word.begin &&
          std::string_view("?*+@!").find(text_[pos_ - 1]) != std::string_view::npos;
      if (!pattern) break;
      skip_brackets('(', ')');
      Part part;
      part.kind = PartKind::arithmetic;
      part.begin = word.begin;
      part.end = pos_;
      word.parts.push_back(std::move(part));
      continue;
    }
    if (substitutes) {
      ++pos_;
      read_output(word.parts, true);
      continue;
    }
    if (read_quoted_piece(word.parts) || read_expansion(word.parts, false)) continue;
    add_text(word.parts, text_.substr(pos_, 1), pos_, false);
    ++pos_;
  }
  word.end = pos_;
  return word;
}

bool ShellReader::read_quoted_piece(std::vector<Part>& parts) {
  const char c = here();
  if (c == '\\') {
    if (pos_ + 1 >= end_) {
      add_text(parts, text_.substr(pos_, 1), pos_, true);
    } else if (text_[pos_ + 1] != '\n') {
      add_text(parts, text_.substr(pos_ + 1, 1), pos_ + 1, true);
    }
    pos_ = std::min(end_, pos_ + 2);
    return true;
  }
  if (c == '\'') {
    read_single_quotes(parts);
    return true;
  }
  if (c == '"') {
    read_double_quotes(parts);
    return true;
  }
  if (c == '$' && at(pos_ + 1) == '\'') {
    read_ansi_quotes(parts);
    return true;
  }
  if (c == '$' && at(pos_ + 1) == '"') {
    ++pos_;
    read_double_quotes(parts);
    return true;
  }
  return false;
}

void ShellReader::read_single_quotes(std::vector<Part>& parts) {
  const std::size_t begin = pos_ + 1;
  const std::size_t close = std::min(text_.find('\'', begin), end_);
  if (close >= end_) unclosed(pos_, "quote '");
  add_text(parts, text_.substr(begin, close - begin), begin, true);
  pos_ = std::min(end_, close + 1);
}

void ShellReader::read_ansi_quotes(std::vector<Part>& parts) {
  const std::size_t open = pos_;
  pos_ += 2;
  add_text(parts, "", pos_, true);
  while (!done() && here() != '\'') {
    if (here() != '\\' || pos_ + 1 >= end_) {
      add_text(parts, text_.substr(pos_, 1), pos_, true);
      ++pos_;
      continue;
    }
    const char c = text_[pos_ + 1];
    const char meant = ansi_escape(c);
    const bool numeric = c == 'x' || c == 'u' || c == 'U' || c == 'c' || is_digit(c);
    if (numeric) {
      Part part;
      part.kind = PartKind::arithmetic;
      part.quoted = true;
      part.begin = pos_;
      part.end = pos_ + 2;
      parts.push_back(std::move(part));
    } else {
      const char byte = meant != '\0' ? meant : c;
      add_text(parts, std::string_view(&byte, 1), pos_ + 1, true);
    }
    pos_ += 2;
  }
  if (done()) unclosed(open, "quote $'");
  pos_ = std::min(end_, pos_ + 1);
}

void ShellReader::read_quoted(std::vector<Part>& parts, std::string_view escapable) {
  if (here() == '\\' && pos_ + 1 < end_) {
    const char next = text_[pos_ + 1];
    if (escapable.find(next) != std::string_view::npos) {
      add_text(parts, text_.substr(pos_ + 1, 1), pos_ + 1, true);
    } else if (next != '\n') {
      add_text(parts, text_.substr(pos_, 2), pos_, true);
    }
    pos_ += 2;
    return;
  }
  if (read_expansion(parts, true)) return;
  add_text(parts, text_.substr(pos_, 1), pos_, true);
  ++pos_;
}

void ShellReader::read_double_quotes(std::vector<Part>& parts) {
  const Level level(*this);
  if (done()) return;
  const std::size_t open = pos_;
  ++pos_;
  add_text(parts, "", pos_, true);  // "" is also a word
  while (!done() && here() != '"') read_quoted(parts, "$`\"\\");
  if (done()) unclosed(open, "quote \"");
  pos_ = std::min(end_, pos_ + 1);
}

/// Reads $a, ${...}, $(...), $((...)) or `...`.
bool ShellReader::read_expansion(std::vector<Part>& parts, bool quoted) {
  if (here() == '`') {
    read_backquotes(parts, quoted);
    return true;
  }
  if (here() != '$') return false;
  const char next = at(pos_ + 1);
  if (next == '{') {
    read_braced(parts, quoted);
    return true;
  }
  if (next == '(') {
    if (at(pos_ + 2) == '(' && read_arithmetic(parts, quoted)) return true;
    ++pos_;
    read_output(parts, quoted);
    return true;
  }
  Part part;
  part.kind = PartKind::variable;
  part.quoted = quoted;
  part.begin = pos_;
  std::size_t end = pos_ + 1;
  if (is_name_start(next)) {
    while (end < end_ && is_name_byte(text_[end])) ++end;
  } else if (is_digit(next) || (next != '\0' && is_special_parameter(next))) {
    ++end;
  } else {
    return false;  // a literal dollar sign
  }
  part.text = text_.substr(pos_ + 1, end - pos_ - 1);
  part.end = pos_ = end;
  parts.push_back(std::move(part));
  return true;
}

/// At the `$` of `${`.
void ShellReader::read_braced(std::vector<Part>& parts, bool quoted) {
  const Level level(*this);
  if (done()) return;
  Part part;
  part.kind = PartKind::variable;
  part.quoted = quoted;
  part.begin = pos_;
  pos_ += 2;
  const bool length = here() == '#' && (is_name_byte(at(pos_ + 1)) || at(pos_ + 1) == '@');
  const bool indirect = here() == '!' && is_name_start(at(pos_ + 1));
  if (length || indirect) ++pos_;
  std::size_t end = pos_;
  if (end < end_ && is_special_parameter(text_[end])) {
    ++end;
  } else {
    while (end < end_ && is_name_byte(text_[end])) ++end;
  }
  part.text = text_.substr(pos_, end - pos_);
  pos_ = end;
  if (here() == '[') {
    const std::size_t open = pos_;
    skip_brackets('[', ']');
    if (pos_ > open + 2) part.index = text_.substr(open + 1, pos_ - open - 2);
    part.names = names_in(part.index);
  }
  if (length || indirect) {
    part.operation = "other";
    read_computed(part);
  } else {
    read_operation(part, quoted);
  }
  if (done()) unclosed(part.begin, "${");
  pos_ = std::min(end_, pos_ + 1);
  part.end = pos_;
  parts.push_back(std::move(part));
}

/// Reads from after the name up to the closing brace, exclusive.
void ShellReader::read_operation(Part& part, bool quoted) {
  if (done() || here() == '}') return;
  const std::size_t colon = here() == ':' ? 1 : 0;
  const char sign = at(pos_ + colon);
  if (sign == '\0' || std::string_view("-=?+").find(sign) == std::string_view::npos) {
    part.operation = "other";
    read_computed(part);
    return;
  }
  part.operation = text_.substr(pos_, colon + 1);
  pos_ += colon + 1;
  part.operand = read_operand(quoted);
}

std::vector<Part> ShellReader::read_operand(bool quoted) {
  std::vector<Part> parts;
  while (!done() && here() != '}') {
    const bool single = here() == '\'' && quoted;  // no quote inside "..."
    if (!single && (read_quoted_piece(parts) || read_expansion(parts, quoted))) continue;
    add_text(parts, text_.substr(pos_, 1), pos_, quoted);
    ++pos_;
  }
  return parts;
}

/// Skips to the closing brace; collects names and commands.
void ShellReader::read_computed(Part& part) {
  for (Part& inner : read_operand(false)) {
    if (inner.kind == PartKind::variable) part.names.push_back(inner.text);
    if (inner.kind != PartKind::text) part.operand.push_back(std::move(inner));
  }
}

/// At the `(` of $( or <(.
void ShellReader::read_output(std::vector<Part>& parts, bool quoted) {
  const Level level(*this);
  if (done()) return;
  Part part;
  part.kind = PartKind::output;
  part.quoted = quoted;
  part.begin = pos_ - 1;
  ++pos_;
  const std::size_t documents_end = std::exchange(documents_end_, 0);
  part.body = std::make_shared<Node>(read_list());
  while (!done() && here() != ')') {
    ++pos_;
    Node rest = read_list();
    part.body->children.push_back(std::move(rest));
  }
  documents_end_ = documents_end;
  if (done()) unclosed(part.begin, "$(");
  pos_ = std::min(end_, pos_ + 1);
  part.end = pos_;
  parts.push_back(std::move(part));
}

void ShellReader::read_backquotes(std::vector<Part>& parts, bool quoted) {
  const Level level(*this);
  if (done()) return;
  Part part;
  part.kind = PartKind::output;
  part.quoted = quoted;
  part.begin = pos_;
  std::size_t close = pos_ + 1;
  while (close < end_ && text_[close] != '`') close += text_[close] == '\\' ? 2 : 1;
  close = std::min(close, end_);
  if (close == end_) unclosed(pos_, "backquote");
  const std::size_t end = end_;
  const std::size_t documents_end = std::exchange(documents_end_, 0);
  ++pos_;
  end_ = std::max(pos_, close);
  Node body = read_list();
  while (!done()) {
    ++pos_;
    Node rest = read_list();
    body.children.push_back(std::move(rest));
  }
  end_ = end;
  documents_end_ = documents_end;
  part.body = std::make_shared<Node>(std::move(body));
  pos_ = std::min(end_, close + 1);
  part.end = pos_;
  parts.push_back(std::move(part));
}

/// Reads $((...)); returns false and reads nothing if the parentheses do not close as a pair.
bool ShellReader::read_arithmetic(std::vector<Part>& parts, bool quoted) {
  int open = 0;
  std::size_t i = pos_ + 1;
  for (; i < end_; ++i) {
    if (text_[i] == '(') ++open;
    if (text_[i] == ')' && --open == 0) break;
    // bash too looks only a few lines ahead; a longer text is not arithmetic.
    if (i - pos_ > 4096) return false;
  }
  if (i >= end_ || text_[i - 1] != ')') return false;
  Part part;
  part.kind = PartKind::arithmetic;
  part.quoted = quoted;
  part.begin = pos_;
  part.text = text_.substr(pos_ + 3, i - 1 - (pos_ + 3));
  part.names = names_in(part.text);
  part.end = pos_ = i + 1;
  parts.push_back(std::move(part));
  return true;
}

std::vector<Part> ShellReader::read_document(std::size_t begin, std::size_t end) {
  const std::size_t outer_end = end_;
  const std::size_t outer_pos = pos_;
  const std::size_t documents_end = std::exchange(documents_end_, 0);
  pos_ = begin;
  end_ = end;
  std::vector<Part> parts;
  while (!done()) read_quoted(parts, "$`\\");
  end_ = outer_end;
  pos_ = outer_pos;
  documents_end_ = documents_end;
  return parts;
}

/// Skips from an opening bracket to after its closing one.
void ShellReader::skip_brackets(char open, char close) {
  const std::size_t begin = pos_;
  int depth = 0;
  while (!done()) {
    const char c = here();
    if (c == '\n' && open == '[') break;
    ++pos_;
    if (c == '\\') pos_ = std::min(end_, pos_ + 1);
    if (c == open) ++depth;
    if (c == close && --depth == 0) return;
  }
  if (open == '(') unclosed(begin, "(");
}

}  // namespace dllaunch::lint

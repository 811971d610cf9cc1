#include <algorithm>
#include <array>

#include "launcher/lint/bash/shell_reader.hpp"

namespace dllaunch::lint {
namespace {

/// The word's bytes if it has no expansions or quotes; else empty.
std::string bare(const Word& word) {
  if (word.parts.size() != 1) return "";
  const Part& part = word.parts.front();
  return part.kind == PartKind::text && !part.quoted ? part.text : "";
}

}  // namespace

ShellTree read_shell(std::string_view text) {
  return ShellReader(text).read();
}

ShellTree ShellReader::read() {
  tree_.root.kind = NodeKind::sequence;
  if (end_ > most_bytes) leave_out("longer than " + std::to_string(most_bytes >> 10) + " KiB");
  while (!done()) {
    Node list = read_list();
    for (Node& child : list.children) tree_.root.children.push_back(std::move(child));
    // Skip an unmatched closing word.
    if (!done() && take_reserved(reserved_word())) continue;
    if (!done()) ++pos_;
  }
  tree_.root.end = end_;
  return std::move(tree_);
}

void ShellReader::unclosed(std::size_t begin, std::string what) {
  if (!tree_.unread.empty()) return;
  tree_.unclosed.push_back({std::min(begin, text_.size()), std::move(what)});
}

void ShellReader::leave_out(std::string why) {
  if (tree_.unread.empty()) {
    tree_.unread = std::move(why);
    tree_.unread_from = pos_;
  }
  pos_ = end_;
}

bool ShellReader::skips(std::string_view word) {
  if (done() || text_.substr(pos_, std::min(word.size(), end_ - pos_)) != word) return false;
  pos_ += word.size();
  return true;
}

/// Skips blanks, joined lines and a comment, but not a newline.
void ShellReader::skip_blanks() {
  while (!done()) {
    if (is_blank(here())) {
      ++pos_;
    } else if (here() == '\\' && at(pos_ + 1) == '\n') {
      pos_ += 2;
    } else if (here() == '#') {
      pos_ = std::min(text_.find('\n', pos_), end_);
    } else {
      return;
    }
  }
}

/// Skips blanks, newlines and here-documents.
void ShellReader::skip_separators() {
  for (;;) {
    skip_blanks();
    if (done() || here() != '\n') return;
    ++pos_;
    read_documents();
  }
}

/// The next plain word, if bash could take it for a reserved word.
std::string ShellReader::reserved_word() const {
  std::size_t end = pos_;
  while (end < end_ && end - pos_ < 9 && !is_meta(text_[end])) ++end;
  const std::string word(text_.substr(pos_, end - pos_));
  static const std::array<std::string_view, 21> words = {
      "if", "then", "elif", "else", "fi", "for",  "while", "until",    "do", "done",  "case",
      "in", "esac", "{",    "}",    "!",  "time", "[[",    "function", "]]", "select"};
  return std::ranges::find(words, word) != words.end() ? word : "";
}

bool ShellReader::take_reserved(std::string_view word) {
  if (word.empty() || reserved_word() != word) return false;
  pos_ += word.size();
  return true;
}

bool ShellReader::ends_list() const {
  if (done() || here() == ')') return true;
  if (here() == ';' && (at(pos_ + 1) == ';' || at(pos_ + 1) == '&')) return true;
  const std::string word = reserved_word();
  static const std::array<std::string_view, 8> ends = {"then", "elif", "else", "fi",
                                                       "do",   "done", "esac", "}"};
  return std::ranges::find(ends, word) != ends.end();
}

Node ShellReader::read_list() {
  const Level level(*this);
  Node list;
  list.kind = NodeKind::sequence;
  list.begin = pos_;
  for (;;) {
    skip_separators();
    if (ends_list()) break;
    const std::size_t before = pos_;
    Node node = read_and_or();
    skip_blanks();
    if (here() == '&' && at(pos_ + 1) != '&' && !done()) {
      node.background = true;
      ++pos_;
    } else if (here() == ';' && at(pos_ + 1) != ';' && at(pos_ + 1) != '&') {
      ++pos_;
    }
    list.children.push_back(std::move(node));
    if (pos_ == before) ++pos_;  // not parseable as bash
  }
  list.end = pos_;
  return list;
}

Node ShellReader::read_and_or() {
  Node first = read_pipeline();
  Node node;
  node.kind = NodeKind::and_or;
  node.begin = first.begin;
  for (;;) {
    skip_blanks();
    std::string joint;
    if (skips("&&")) joint = "&&";
    if (joint.empty() && skips("||")) joint = "||";
    if (joint.empty()) break;
    skip_separators();
    node.joints.push_back(joint);
    node.children.push_back(read_pipeline());
  }
  node.end = pos_;
  if (node.children.empty()) return first;
  node.children.insert(node.children.begin(), std::move(first));
  return node;
}

Node ShellReader::read_pipeline() {
  skip_blanks();
  const std::size_t begin = pos_;
  for (;; skip_blanks()) {
    const bool timed = take_reserved("time");
    if (!timed && !take_reserved("!")) break;
    skip_blanks();
    if (timed && here() == '-' && at(pos_ + 1) == 'p' && is_meta(at(pos_ + 2))) pos_ += 2;
  }
  Node first = read_command();
  first.begin = begin;
  Node node;
  node.kind = NodeKind::pipeline;
  node.begin = first.begin;
  for (;;) {
    skip_blanks();
    if (here() != '|' || at(pos_ + 1) == '|' || done()) break;
    pos_ += at(pos_ + 1) == '&' ? 2 : 1;
    skip_separators();
    node.children.push_back(read_command());
  }
  node.end = pos_;
  if (node.children.empty()) return first;
  node.children.insert(node.children.begin(), std::move(first));
  return node;
}

Node ShellReader::read_command() {
  const Level level(*this);
  skip_blanks();
  if (here() == '(' && at(pos_ + 1) == '(') return read_double_parentheses();
  if (here() == '(') return read_group(NodeKind::subshell, ')');
  const std::size_t begin = pos_;
  const std::string word = reserved_word();
  if (word == "{") return read_group(NodeKind::group, '}');
  if (word == "if") return read_if();
  if (word == "while" || word == "until") return read_loop();
  if (word == "for" || word == "select") return read_each();
  if (word == "case") return read_case();
  if (take_reserved("function")) {
    skip_blanks();
    const Word name = read_word();
    skip_blanks();
    if (here() == '(') ++pos_;
    skip_blanks();
    if (here() == ')') ++pos_;
    return read_function(bare(name), begin);
  }
  return read_simple();
}

/// Reads a function's body, after NAME().
Node ShellReader::read_function(std::string name, std::size_t begin) {
  Node node;
  node.kind = NodeKind::function;
  node.begin = begin;
  node.name = std::move(name);
  skip_separators();
  node.children.push_back(read_command());
  node.end = pos_;
  return node;
}

Node ShellReader::read_group(NodeKind kind, char close) {
  Node node;
  node.kind = kind;
  node.begin = pos_;
  ++pos_;
  node.children.push_back(read_list());
  if (done()) unclosed(node.begin, kind == NodeKind::group ? "{" : "(");
  if (here() == close) ++pos_;
  read_redirections(node);
  node.end = pos_;
  return node;
}

Node ShellReader::read_double_parentheses() {
  Node node;
  node.begin = pos_;
  const std::size_t begin = pos_;
  skip_brackets('(', ')');
  node.names = names_in(text_.substr(begin, pos_ - begin));
  node.end = pos_;
  return node;
}

Node ShellReader::read_if() {
  Node node;
  node.kind = NodeKind::choice;
  node.begin = pos_;
  take_reserved("if");
  for (;;) {
    node.children.push_back(read_list());
    if (!take_reserved("then")) break;
    node.children.push_back(read_list());
    if (take_reserved("elif")) continue;
    if (take_reserved("else")) node.children.push_back(read_list());
    break;
  }
  if (!take_reserved("fi") && done()) unclosed(node.begin, "if");
  read_redirections(node);
  node.end = pos_;
  return node;
}

Node ShellReader::read_loop() {
  Node node;
  node.kind = NodeKind::loop;
  node.begin = pos_;
  if (!take_reserved("while")) take_reserved("until");
  node.children.push_back(read_list());
  if (take_reserved("do")) node.children.push_back(read_list());
  if (!take_reserved("done") && done()) unclosed(node.begin, "while");
  read_redirections(node);
  node.end = pos_;
  return node;
}

Node ShellReader::read_each() {
  Node node;
  node.kind = NodeKind::each;
  node.begin = pos_;
  if (!take_reserved("for")) take_reserved("select");
  skip_blanks();
  if (here() == '(') {
    const std::size_t begin = pos_;
    skip_brackets('(', ')');
    node.names = names_in(text_.substr(begin, pos_ - begin));
  } else {
    const Word name = read_word();
    if (is_name(bare(name))) node.name = bare(name);
    skip_separators();
    if (take_reserved("in")) {
      for (skip_blanks(); !done() && !is_meta(here()); skip_blanks()) {
        node.words.push_back(read_word());
      }
    }
  }
  skip_blanks();
  if (here() == ';') ++pos_;
  skip_separators();
  const bool braces = here() == '{' && reserved_word() == "{";
  if (take_reserved("do") || take_reserved("{")) node.children.push_back(read_list());
  if (!take_reserved(braces ? "}" : "done") && done()) unclosed(node.begin, "for");
  read_redirections(node);
  node.end = pos_;
  return node;
}

Node ShellReader::read_case() {
  Node node;
  node.kind = NodeKind::cases;
  node.begin = pos_;
  take_reserved("case");
  skip_blanks();
  node.words.push_back(read_word());
  skip_separators();
  take_reserved("in");
  for (;;) {
    skip_separators();
    if (done() || take_reserved("esac")) break;
    const std::size_t before = pos_;
    node.children.push_back(read_arm());
    if (pos_ == before) ++pos_;
  }
  read_redirections(node);
  node.end = pos_;
  return node;
}

/// PATTERN [| PATTERN]...) commands ;;
Node ShellReader::read_arm() {
  if (here() == '(') ++pos_;
  for (;;) {
    skip_blanks();
    if (done() || here() == ')' || here() == '\n') break;
    const std::size_t before = pos_;
    read_word();
    if (pos_ == before) ++pos_;
  }
  if (here() == ')') ++pos_;
  Node arm = read_list();
  if (here() == ';') {
    ++pos_;
    while (here() == ';' || here() == '&') ++pos_;
  } else if (here() == ')') {
    ++pos_;
  }
  return arm;
}

Node ShellReader::read_simple() {
  Node node;
  node.begin = pos_;
  for (;;) {
    skip_blanks();
    if (done() || here() == '\n') break;
    if (read_redirection(node)) continue;
    const bool substitutes = (here() == '<' || here() == '>') && at(pos_ + 1) == '(';
    if (is_meta(here()) && !substitutes) break;
    if (read_assignment(node)) continue;
    if (node.words.empty() && take_reserved("[[")) {
      read_double_brackets(node);
      continue;
    }
    node.words.push_back(read_word());
    const bool first = node.words.size() == 1 && node.assignments.empty();
    if (!first) continue;
    skip_blanks();
    std::size_t close = pos_ + 1;
    while (close < end_ && is_blank(text_[close])) ++close;
    if (here() == '(' && at(close) == ')' && !bare(node.words[0]).empty()) {
      pos_ = close + 1;
      return read_function(bare(node.words[0]), node.begin);
    }
  }
  node.end = pos_;
  return node;
}

/// Reads [[ ... ]] as one command whose words are the operands.
void ShellReader::read_double_brackets(Node& node) {
  Word name;
  name.begin = pos_ - 2;
  name.end = pos_;
  Part text;
  text.begin = name.begin;
  text.end = name.end;
  text.text = "[[";
  name.parts.push_back(std::move(text));
  node.words.push_back(std::move(name));
  for (;;) {
    skip_separators();
    if (done() || take_reserved("]]")) return;
    if (is_meta(here())) {
      ++pos_;
      continue;
    }
    node.words.push_back(read_word());
  }
}

/// Reads NAME=, NAME+=, NAME[i]= or NAME=(...) before a command, or as an argument of export and
/// the like.
bool ShellReader::read_assignment(Node& node) {
  if (!node.words.empty()) {
    static const std::array<std::string_view, 5> declaring = {"export", "declare", "typeset",
                                                              "local", "readonly"};
    const std::string command = bare(node.words[0]);
    if (std::ranges::find(declaring, command) == declaring.end()) return false;
  }
  if (!is_name_start(here())) return false;
  std::size_t i = pos_;
  while (i < end_ && is_name_byte(text_[i])) ++i;
  Assignment assignment;
  assignment.begin = pos_;
  assignment.name = text_.substr(pos_, i - pos_);
  if (at(i) == '[') {
    std::size_t close = i;
    while (close < end_ && text_[close] != ']' && text_[close] != '\n') ++close;
    if (at(close) != ']') return false;
    assignment.indexed = true;
    i = close + 1;
  }
  if (at(i) == '+' && at(i + 1) == '=') {
    assignment.append = true;
    ++i;
  }
  if (at(i) != '=') return false;
  pos_ = i + 1;
  if (here() == '(') {
    assignment.array = true;
    read_elements(assignment);
  } else {
    assignment.value = read_word();
  }
  assignment.end = pos_;
  node.assignments.push_back(std::move(assignment));
  return true;
}

void ShellReader::read_elements(Assignment& assignment) {
  const std::size_t open = pos_;
  ++pos_;
  for (;;) {
    skip_separators();
    if (done() || here() == ')') break;
    if (is_meta(here())) {
      ++pos_;
      continue;
    }
    assignment.elements.push_back(read_word());
  }
  if (done()) unclosed(open, "(");
  pos_ = std::min(end_, pos_ + 1);
}

}  // namespace dllaunch::lint

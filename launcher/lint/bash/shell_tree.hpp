// A shell script as a tree: what bash parses before it runs anything.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch::lint {

struct Node;

enum class PartKind {
  text,        // as written
  variable,    // $a, ${a...}
  output,      // $(...), `...`, <(...)
  arithmetic,  // $((...))
};

/// A piece of a word.
struct Part {
  PartKind kind = PartKind::text;
  bool quoted = false;    // no word splitting, no globbing
  std::size_t begin = 0;  // offsets in the script
  std::size_t end = 0;
  std::string text = {};           // text: its bytes, byte i at begin + i; variable: its name
  std::string operation = {};      // variable: ":-", "=", "+", ...; "other" if it computes a value
  std::string index = {};          // variable: "3", "@" of ${a[...]}
  std::vector<Part> operand = {};  // variable: the text after the operation
  std::vector<std::string> names = {};  // arithmetic, index and "other": variables read
  std::shared_ptr<Node> body = {};      // output: the commands
};

struct Word {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<Part> parts = {};
};

struct Assignment {
  std::string name = {};
  std::size_t begin = 0;
  std::size_t end = 0;
  bool append = false;   // +=
  bool indexed = false;  // a[i]=
  bool array = false;    // a=(...)
  Word value = {};
  std::vector<Word> elements = {};
};

struct HereDocument {
  std::size_t begin = 0;  // of the first line after <<
  std::size_t end = 0;
  bool expands = false;  // the delimiter was not quoted
  std::vector<Part> parts = {};
};

struct Redirection {
  std::size_t begin = 0;  // of its descriptor, if it has one
  std::size_t end = 0;
  std::string operation = {};  // ">", "<<", "2>&1" is ">&"
  Word target = {};
  std::size_t document = static_cast<std::size_t>(-1);  // index in Node::documents
};

enum class NodeKind {
  command,   // assignments, words, redirections
  sequence,  // children in order
  and_or,    // children joined by `joints` ("&&", "||")
  pipeline,  // children in parallel, in subshells if there are several
  subshell,  // one child
  group,     // { ...; }: one child
  choice,    // if: condition, body, condition, body, ..., [else body]
  cases,     // case: one child per arm
  loop,      // while, until: condition and body
  each,      // for, select: `name` over `words`, one child
  function,  // `name` and its body
};

struct Node {
  NodeKind kind = NodeKind::command;
  std::size_t begin = 0;  // of `time` and `!` before it too
  std::size_t end = 0;
  bool background = false;  // ended by &
  std::vector<Assignment> assignments = {};
  std::vector<Word> words = {};
  std::vector<Redirection> redirections = {};
  std::vector<HereDocument> documents = {};
  std::vector<Node> children = {};
  std::vector<std::string> joints = {};
  std::string name = {};
  std::vector<std::string> names = {};  // ((...)): variables it may change
};

/// A construct that is not closed.
struct Unclosed {
  std::size_t at = 0;
  std::string what = {};  // "quote \"", "$("
};

struct ShellTree {
  Node root = {};
  std::vector<Unclosed> unclosed = {};  // in the order found
  std::string unread = {};              // why the rest was not parsed: "longer than 512 KiB"
  std::size_t unread_from = 0;
};

/// Parses a script in linear time. Never fails: skips what it cannot parse. A tree takes up to 200
/// times the memory of its text; no script that a person writes is longer than the limit.
ShellTree read_shell(std::string_view text);

/// [A-Za-z_][A-Za-z0-9_]*
bool is_name(std::string_view text);
/// The longest name at the start of the text; may be empty.
std::string_view leading_name(std::string_view text);

}  // namespace dllaunch::lint

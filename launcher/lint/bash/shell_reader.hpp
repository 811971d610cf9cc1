// The implementation of read_shell(); private to it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/lint/bash/shell_tree.hpp"

namespace dllaunch::lint {

/// A recursive-descent parser over the script's bytes. read_words.cpp: words and their parts;
/// read_commands.cpp: simple and compound commands; read_redirections.cpp: here-documents.
class ShellReader {
 public:
  explicit ShellReader(std::string_view text) : text_(text), end_(text.size()) {}

  ShellTree read();

 private:
  // Words.
  Word read_word();
  bool read_quoted_piece(std::vector<Part>& parts);
  bool read_expansion(std::vector<Part>& parts, bool quoted);
  void read_single_quotes(std::vector<Part>& parts);
  void read_ansi_quotes(std::vector<Part>& parts);
  /// Reads one character, escape or expansion in double quotes or a here-document.
  void read_quoted(std::vector<Part>& parts, std::string_view escapable);
  void read_double_quotes(std::vector<Part>& parts);
  void read_braced(std::vector<Part>& parts, bool quoted);
  void read_operation(Part& part, bool quoted);
  std::vector<Part> read_operand(bool quoted);
  void read_computed(Part& part);
  void read_output(std::vector<Part>& parts, bool quoted);
  void read_backquotes(std::vector<Part>& parts, bool quoted);
  bool read_arithmetic(std::vector<Part>& parts, bool quoted);
  std::vector<Part> read_document(std::size_t begin, std::size_t end);
  void skip_brackets(char open, char close);

  // Commands.
  Node read_list();
  Node read_and_or();
  Node read_pipeline();
  Node read_command();
  Node read_simple();
  Node read_if();
  Node read_loop();
  Node read_each();
  Node read_case();
  Node read_arm();
  Node read_function(std::string name, std::size_t begin);
  Node read_group(NodeKind kind, char close);
  Node read_double_parentheses();
  void read_double_brackets(Node& node);
  bool read_assignment(Node& node);
  void read_elements(Assignment& assignment);
  bool read_redirection(Node& node);
  void read_redirections(Node& node);
  void read_here_document(Node& node, Redirection& redirection);
  std::size_t find_delimiter(const std::string& delimiter, bool strips_tabs, std::size_t begin);
  void read_documents();

  // The byte at offset `i`.
  char at(std::size_t i) const { return i < end_ ? text_[i] : '\0'; }
  char here() const { return at(pos_); }
  bool done() const { return pos_ >= end_; }
  bool skips(std::string_view word);
  void skip_blanks();
  void skip_separators();
  std::string reserved_word() const;
  bool take_reserved(std::string_view word);
  bool ends_list() const;
  void unclosed(std::size_t begin, std::string what);
  /// Parses nothing more.
  void leave_out(std::string why);

  /// Tracks the nesting depth; beyond the limit, skips to the end of the text.
  class Level {
   public:
    explicit Level(ShellReader& reader) : reader_(reader) {
      if (++reader_.depth_ > most_levels) reader_.leave_out("nested too deeply");
    }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { --reader_.depth_; }

   private:
    ShellReader& reader_;
  };

  static constexpr int most_levels = 150;
  static constexpr std::size_t most_bytes = 512 << 10;

  std::string_view text_;
  std::size_t end_ = 0;
  std::size_t pos_ = 0;
  int depth_ = 0;
  ShellTree tree_;
  std::size_t documents_end_ = 0;  // after the here-documents of the current line
  std::size_t searched_ = 0;       // bytes searched for delimiters; bounded
};

bool is_name_start(char c);
bool is_name_byte(char c);
bool is_blank(char c);
/// Whether the character ends an unquoted word.
bool is_meta(char c);
/// The variables that an arithmetic expression reads or may change.
std::vector<std::string> names_in(std::string_view arithmetic);

}  // namespace dllaunch::lint

// Text after expansion; every byte knows where in the script it was written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch::lint {

/// A value that bash would compute at run time. Parts that cannot be known are holes; expansions of
/// variables that are never set are gaps, which are empty.
class Text {
 public:
  /// In bytes(), a part of unknown length.
  static constexpr char hole = '\0';
  /// Longer values become one hole.
  static constexpr std::size_t most_bytes = 16384;

  /// Where an expansion left a hole (unknown) or a gap (empty).
  struct Mark {
    std::size_t at = 0;      // in bytes()
    std::string name = {};   // of the variable; empty: command output, arithmetic
    std::size_t source = 0;  // offset of the expansion in the script
    bool gap = false;
  };

  Text() = default;
  /// `bytes` as written at `source`.
  Text(std::string_view bytes, std::size_t source) { add(bytes, source); }

  void add(std::string_view bytes, std::size_t source);
  void add_hole(const std::string& name, std::size_t source);
  void add_gap(const std::string& name, std::size_t source);
  void append(const Text& other);
  Text part(std::size_t begin, std::size_t count = std::string::npos) const;

  const std::string& bytes() const { return bytes_; }
  const std::vector<Mark>& marks() const { return marks_; }
  bool empty() const { return bytes_.empty(); }
  bool known() const { return bytes_.find(hole) == std::string::npos; }
  bool has_gap() const;
  /// The script offset of byte `at`, or of the end for at == size.
  std::size_t source(std::size_t at) const;
  /// Whether the text is one unmodified piece of the script.
  bool is_verbatim() const { return pieces_.size() == 1 && marks_.empty(); }

 private:
  struct Piece {
    std::size_t at = 0;
    std::size_t source = 0;
  };

  bool overflows(std::size_t more, std::size_t more_marks);

  std::string bytes_;
  std::vector<Piece> pieces_;  // byte i of a piece was written at source + i
  std::vector<Mark> marks_;
};

/// An unsigned decimal number; -1 if it is none, unknown or too large.
long number_of(const Text& text);
long number_of(std::string_view text);

}  // namespace dllaunch::lint

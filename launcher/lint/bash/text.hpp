// Text as the shell would hand it on, every byte knowing where in the script it was written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch::lint {

/// A value that bash would build while the script runs. Pieces that nobody can know before then are
/// holes; expansions of variables that are never set leave gaps, which are empty.
class Text {
 public:
  /// Stands in bytes() for a piece of unknown length.
  static constexpr char hole = '\0';
  /// What grows beyond this is one hole.
  static constexpr std::size_t most_bytes = 16384;

  /// Where a variable or a command left something unknown (in a hole) or nothing (in a gap).
  struct Mark {
    std::size_t at = 0;      // in bytes()
    std::string name = {};   // of the variable; empty: a command's output, arithmetic
    std::size_t source = 0;  // where the expansion stands in the script
    bool gap = false;
  };

  Text() = default;
  /// `bytes` stand as they are at `source`.
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
  /// Offset in the script of byte `at`; of the end for at == size.
  std::size_t source(std::size_t at) const;
  /// The bytes stand in the script exactly so, in one piece.
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

/// Decimal number without sign; -1 where it is none, unknown or too large.
long number_of(const Text& text);
long number_of(std::string_view text);

}  // namespace dllaunch::lint

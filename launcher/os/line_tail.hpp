// Whole lines of a file that another process is still writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// The file may appear late, grow in the middle of a line, be truncated or be replaced: a line is
/// delivered once, when its newline is there. A file that shrank is read from its beginning again.
/// A carriage return begins the line anew, as on a terminal: of a progress bar that redraws itself
/// the last state is the line.
class LineTail {
 public:
  /// A longer line is cut to this; its rest is dropped.
  static constexpr std::size_t longest_line = 65536;

  /// `from`: bytes to skip, what an earlier run left in the file.
  explicit LineTail(std::string path, std::uint64_t from = 0);

  const std::string& path() const { return path_; }

  static constexpr std::size_t most_per_read = 1 << 20;

  /// The lines completed since the last call, without newlines. At most `most_bytes` are read, so
  /// a caller that wants everything calls until behind() is false.
  std::vector<std::string> read(std::size_t most_bytes = most_per_read);
  /// Whether the last read() stopped before the file's end.
  bool behind() const { return behind_; }

  /// The unfinished line, if it is one that redraws itself: a progress bar as it stands.
  std::string redrawn() const { return redraws_ ? partial_ : std::string(); }

  /// What stands after the last newline; for when the writer is known to be gone.
  std::string take_rest();

 private:
  void consume(std::string_view block, std::vector<std::string>& lines);
  void append(std::string_view piece);
  std::string take_partial();

  std::string path_;
  std::uint64_t offset_ = 0;
  std::string partial_;
  bool behind_ = false;
  bool redraws_ = false;   // the unfinished line held a carriage return
  bool returned_ = false;  // its last character was one: what comes next replaces the line
};

}  // namespace dllaunch

// Follows a file that another process is still writing, by whole lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// The file may appear late, grow mid-line, be truncated or be replaced. A line is delivered once,
/// when its newline arrives. A file that shrank is read again from the start. A carriage return
/// restarts the line, as on a terminal: only the last state of a progress bar is delivered.
class LineTail {
 public:
  /// Longer lines are truncated to this.
  static constexpr std::size_t longest_line = 65536;

  /// `from`: bytes to skip, left by an earlier run.
  explicit LineTail(std::string path, std::uint64_t from = 0);

  const std::string& path() const { return path_; }
  /// Bytes that were skipped or read, also those of an unfinished line.
  std::uint64_t offset() const { return offset_; }

  static constexpr std::size_t most_per_read = 1 << 20;

  /// The lines completed since the last call, without newlines. Reads at most `most_bytes`; to read
  /// everything, call until behind() is false.
  std::vector<std::string> read(std::size_t most_bytes = most_per_read);
  /// Why the last read() could not read the file, as errno; 0: it could, or there is no file.
  int error() const { return error_; }
  /// Whether the last read() stopped before the file's end.
  bool behind() const { return behind_; }

  /// The unfinished line if it contains a carriage return: the current state of a progress bar.
  std::string redrawn() const { return redraws_ ? partial_ : std::string(); }

  /// The text after the last newline. Call once the writer has ended.
  std::string take_rest();

 private:
  void consume(std::string_view block, std::vector<std::string>& lines);
  void append(std::string_view piece);
  std::string take_partial();

  std::string path_;
  std::uint64_t offset_ = 0;
  std::string partial_;
  int error_ = 0;
  bool behind_ = false;
  bool redraws_ = false;   // the unfinished line contains a carriage return
  bool returned_ = false;  // it ends with one: the next character replaces the line
};

/// Calls look(line) for every line of a file that no one writes any more, from byte `from` on, the
/// last one also without its newline; once more with an empty text at the end. Returns errno if the
/// file system does not give the file; else, also without a file, 0.
int for_each_line(const std::string& path, auto look, std::uint64_t from = 0) {
  LineTail lines(path, from);
  do {
    for (const auto& line : lines.read()) look(line);
  } while (lines.behind());
  look(lines.take_rest());
  return lines.error();
}

}  // namespace dllaunch

// Whole lines of a file that another process is still writing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dllaunch {

/// The file may appear late, grow in the middle of a line, be truncated or be replaced: a line is
/// delivered once, when its newline is there. A file that shrank is read from its beginning again.
class LineTail {
 public:
  /// A longer line is cut to this; its rest is dropped.
  static constexpr std::size_t longest_line = 65536;

  /// `from`: bytes to skip, what an earlier run left in the file.
  explicit LineTail(std::string path, std::uint64_t from = 0);

  const std::string& path() const { return path_; }

  /// The lines completed since the last call, without newlines. At most 1 MiB is read per call, so
  /// a caller that wants everything calls until nothing comes.
  std::vector<std::string> read();

  /// What stands after the last newline; for when the writer is known to be gone.
  std::string take_rest();

 private:
  void consume(const char* data, std::size_t size, std::vector<std::string>& lines);

  std::string path_;
  std::uint64_t offset_ = 0;
  std::string partial_;
};

}  // namespace dllaunch

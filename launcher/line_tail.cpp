#include "launcher/line_tail.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace dllaunch {
namespace {

constexpr std::uint64_t most_per_read = 1 << 20;

}  // namespace

LineTail::LineTail(std::string path, std::uint64_t from) : path_(std::move(path)), offset_(from) {}

std::vector<std::string> LineTail::read() {
  std::vector<std::string> lines;
  // Opened anew each time: network file systems show what others wrote at open.
  const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return lines;
  struct stat info {};
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    if (static_cast<std::uint64_t>(info.st_size) < offset_) {
      offset_ = 0;
      partial_.clear();
    }
    // Most looks find nothing new: then nothing is allocated either.
    const auto fresh = static_cast<std::uint64_t>(info.st_size) - offset_;
    std::string block(static_cast<std::size_t>(std::min(most_per_read, fresh)), '\0');
    const ssize_t got = pread(fd, block.data(), block.size(), static_cast<off_t>(offset_));
    if (got > 0) {
      offset_ += static_cast<std::uint64_t>(got);
      consume(block.data(), static_cast<std::size_t>(got), lines);
    }
  }
  close(fd);
  return lines;
}

void LineTail::consume(const char* data, std::size_t size, std::vector<std::string>& lines) {
  const char* const end = data + size;
  while (data != end) {
    const char* const newline = std::find(data, end, '\n');
    const std::size_t room = longest_line - std::min(longest_line, partial_.size());
    partial_.append(data, std::min(room, static_cast<std::size_t>(newline - data)));
    if (newline == end) return;
    lines.push_back(std::exchange(partial_, {}));
    data = newline + 1;
  }
}

std::string LineTail::take_rest() {
  return std::exchange(partial_, {});
}

}  // namespace dllaunch

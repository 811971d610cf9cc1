#include "launcher/os/line_tail.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "support/regular_file.hpp"

namespace dllaunch {
LineTail::LineTail(std::string path, std::uint64_t from) : path_(std::move(path)), offset_(from) {}

std::vector<std::string> LineTail::read(std::size_t most_bytes) {
  std::vector<std::string> lines;
  behind_ = false;
  // Reopened each time: network file systems show other clients' writes on open.
  const int fd = open_regular_file(path_, FileLinks::refused);
  error_ = fd < 0 && errno != ENOENT ? errno : 0;
  if (fd < 0) return lines;
  struct stat info {};
  if (fstat(fd, &info) == 0) {
    if (static_cast<std::uint64_t>(info.st_size) < offset_) {
      offset_ = 0;
      take_partial();
    }
    // Most polls find nothing new, and then allocate nothing.
    const auto fresh = static_cast<std::uint64_t>(info.st_size) - offset_;
    std::string block(static_cast<std::size_t>(std::min<std::uint64_t>(most_bytes, fresh)), '\0');
    const ssize_t got = pread(fd, block.data(), block.size(), static_cast<off_t>(offset_));
    if (got < 0) error_ = errno;
    if (got > 0) {
      offset_ += static_cast<std::uint64_t>(got);
      block.resize(static_cast<std::size_t>(got));
      behind_ = static_cast<std::uint64_t>(got) < fresh;
      consume(block, lines);
    }
  }
  close(fd);
  return lines;
}

void LineTail::consume(std::string_view block, std::vector<std::string>& lines) {
  while (!block.empty()) {
    const std::size_t newline = block.find('\n');
    append(block.substr(0, newline));
    if (newline == std::string_view::npos) return;
    lines.push_back(take_partial());
    block.remove_prefix(newline + 1);
  }
}

void LineTail::append(std::string_view piece) {
  const std::size_t last = piece.find_last_not_of('\r');
  const std::size_t body = last == std::string_view::npos ? 0 : last + 1;
  if (body > 0) {
    const std::size_t anew = piece.rfind('\r', last);
    if (returned_ || anew != std::string_view::npos) {
      partial_.clear();
      redraws_ = true;
    }
    const std::size_t begin = anew == std::string_view::npos ? 0 : anew + 1;
    const std::size_t room = longest_line - std::min(longest_line, partial_.size());
    partial_.append(piece.substr(begin, std::min(room, body - begin)));
    returned_ = false;
  }
  if (body < piece.size()) returned_ = true;
}

std::string LineTail::take_partial() {
  redraws_ = false;
  returned_ = false;
  return std::exchange(partial_, {});
}

std::string LineTail::take_rest() {
  return take_partial();
}

}  // namespace dllaunch

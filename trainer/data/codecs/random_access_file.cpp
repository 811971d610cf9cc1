#include "trainer/data/codecs/random_access_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "support/regular_file.hpp"

namespace dllaunch {
namespace {

/// Only a missing file, or what is none, is bad_request; other errors may be temporary.
Error refused(const std::filesystem::path& file, int why) {
  if (why == EINVAL || why == EISDIR)
    return {ErrorKind::bad_request, file.string() + ": not a regular file", ""};
  const bool no_such_file = why == ENOENT || why == ENOTDIR || why == ELOOP;
  return {no_such_file ? ErrorKind::bad_request : ErrorKind::unavailable,
          file.string() + ": " + std::strerror(why), ""};
}

}  // namespace

Result<RandomAccessFile> RandomAccessFile::open(const std::filesystem::path& file) {
  const int opened = open_regular_file(file.string());
  if (opened < 0) return refused(file, errno);
  RandomAccessFile owned(file, opened, 0);
  struct stat status {};
  if (::fstat(opened, &status) != 0) return refused(file, errno);
  owned.size_ = static_cast<std::uint64_t>(status.st_size);
  return owned;
}

RandomAccessFile::RandomAccessFile(RandomAccessFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      size_(std::exchange(other.size_, 0)) {}

RandomAccessFile& RandomAccessFile::operator=(RandomAccessFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(size_, other.size_);
  return *this;
}

RandomAccessFile::~RandomAccessFile() {
  if (file_ >= 0) ::close(file_);
}

Result<Ok> RandomAccessFile::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
  if (offset > std::numeric_limits<std::int64_t>::max() - out.size()) {
    return Error{ErrorKind::unavailable, path_.string() + ": read beyond the end", ""};
  }
  while (!out.empty()) {
    const auto count = ::pread(file_, out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return Error{ErrorKind::unavailable, path_.string() + ": " + std::strerror(errno), ""};
    }
    if (count == 0) {
      return Error{ErrorKind::unavailable,
                   path_.string() + ": ends before byte " + std::to_string(offset + out.size()),
                   "the file has become shorter since it was opened"};
    }
    out = out.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return Ok{};
}

}  // namespace dllaunch

// A file that is too large to keep: read at any place, by any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "support/result.hpp"

namespace dllaunch {

/// The kernel's page cache is shared by the ranks of a node, so nothing is kept here. Errors name
/// the file.
class RandomAccessFile {
 public:
  /// bad_request: it is not there, or no regular file. unavailable: the system refuses.
  static Result<RandomAccessFile> open(const std::filesystem::path& file);

  RandomAccessFile(RandomAccessFile&& other) noexcept;
  RandomAccessFile& operator=(RandomAccessFile&& other) noexcept;
  ~RandomAccessFile();

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }  // bytes, when it was opened

  /// Fills `out` with the bytes from `offset` on. unavailable: the device or file system refuses,
  /// or the file has become shorter.
  Result<Ok> read(std::uint64_t offset, std::span<std::uint8_t> out) const;

 private:
  RandomAccessFile(std::filesystem::path path, int file, std::uint64_t size)
      : path_(std::move(path)), file_(file), size_(size) {}

  std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace dllaunch

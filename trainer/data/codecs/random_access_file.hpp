// File formats of data sets: gzip, JPEG, and files read at arbitrary offsets.
// Knows nothing about data sets, labels or networks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "support/result.hpp"

namespace dllaunch {

/// Reads at any offset from any thread. Keeps no buffer: the ranks of a node share the page cache.
/// Errors name the file.
class RandomAccessFile {
 public:
  /// bad_request: missing or not a regular file. unavailable: a system error.
  static Result<RandomAccessFile> open(const std::filesystem::path& file);

  RandomAccessFile(RandomAccessFile&& other) noexcept;
  RandomAccessFile& operator=(RandomAccessFile&& other) noexcept;
  ~RandomAccessFile();

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }  // bytes, at the time of opening

  /// Fills `out` with the bytes from `offset` on. unavailable: an I/O error, or the file has been
  /// truncated.
  Result<Ok> read(std::uint64_t offset, std::span<std::uint8_t> out) const;

 private:
  RandomAccessFile(std::filesystem::path path, int file, std::uint64_t size)
      : path_(std::move(path)), file_(file), size_(size) {}

  std::filesystem::path path_;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace dllaunch

// Reads bytes that may be gzip-compressed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "support/result.hpp"

namespace dllaunch {

/// Detects gzip by content, not by name; other content is read unchanged. Memory use does not
/// depend on sizes claimed by the content.
class ByteReader {
 public:
  /// `content` must outlive the reader.
  explicit ByteReader(std::span<const std::uint8_t> content);
  ~ByteReader();
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  /// Returns an upper bound of the bytes in the content: deflate compresses at most 1032 to 1.
  std::uint64_t most_bytes() const;

  /// Fills `out` as far as possible and returns the number of bytes written. bad_request: the gzip
  /// data is damaged or truncated.
  Result<std::size_t> read(std::span<std::uint8_t> out);

  /// bad_request: there is more data, or the gzip checksum does not match.
  Result<Ok> expect_end();

 private:
  struct Inflate;
  Result<std::size_t> inflate_into(std::span<std::uint8_t> out);

  std::span<const std::uint8_t> rest_;
  std::size_t size_;
  std::unique_ptr<Inflate> inflate_;  // absent: not compressed
};

}  // namespace dllaunch

// Bytes out of a file's content, inflated where it is gzip.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "support/result.hpp"

namespace dllaunch {

/// Chosen by content, not by name: what begins like gzip is inflated, anything else is read as it
/// is. Allocates nothing that grows with what the content claims.
class ByteReader {
 public:
  /// `content` must outlive the reader.
  explicit ByteReader(std::span<const std::uint8_t> content);
  ~ByteReader();
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  /// No content can give more bytes than this: deflate packs at most 1032 to 1.
  std::uint64_t most_bytes() const;

  /// Fills `out`, or as much of it as there is, and returns how much that was.
  /// bad_request: the gzip data is damaged or cut off.
  Result<std::size_t> read(std::span<std::uint8_t> out);

  /// bad_request: there is more, or the check at the end of the gzip data fails.
  Result<Ok> expect_end();

 private:
  struct Inflate;
  Result<std::size_t> inflate_into(std::span<std::uint8_t> out);

  std::span<const std::uint8_t> rest_;
  std::size_t size_;
  std::unique_ptr<Inflate> inflate_;  // absent: plain content
};

}  // namespace dllaunch

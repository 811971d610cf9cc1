// Files of token ids, 16 bits each, little-endian: llm.c's shards, and headerless ones as
// nanoGPT's.
//
// llm.c (dev/data/data_common.py): 256 words of 32 bits (the magic 20240520, the version 1, the
// number of tokens, zeros), then the ids. nanoGPT (data/*/prepare.py): only the ids.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "support/result.hpp"
#include "trainer/data/codecs/random_access_file.hpp"

namespace dllaunch {

constexpr std::size_t token_header_bytes = 1024;

/// Where the ids lie in a file.
struct TokenLayout {
  std::uint64_t begin = 0;  // bytes
  std::int64_t tokens = 0;
};

/// `head`: the first bytes of a file of `size` bytes, token_header_bytes of them or all. A file has
/// a header if it begins with the magic, or if words 3 to 255 are zero: 500 times the first id of a
/// vocabulary is no text. bad_request says what is wrong and at which offset, without the file's
/// name.
Result<TokenLayout> token_layout(std::span<const std::uint8_t> head, std::uint64_t size);

/// An open file. Reads from any thread.
class TokenShard {
 public:
  /// bad_request: missing, or token_layout()'s with the file's name.
  static Result<TokenShard> open(const std::filesystem::path& file);

  std::int64_t tokens() const { return layout_.tokens; }
  const std::filesystem::path& path() const { return file_.path(); }

  /// Reads ids [first, first + ids.size()). unavailable: an I/O error.
  Result<Ok> read(std::int64_t first, std::span<std::uint16_t> ids) const;

  /// bad_request names the first of ids [first, end) that is not below `vocabulary`, with its
  /// offset. Reads them all, one MiB at a time.
  Result<Ok> check_ids(std::int64_t first, std::int64_t end, int vocabulary) const;

  /// bad_request if one of `ids`, which begin at `first`, is not below `vocabulary`.
  Result<Ok> check_ids(std::int64_t first, std::span<const std::uint16_t> ids,
                       int vocabulary) const;

 private:
  TokenShard(RandomAccessFile file, TokenLayout layout) : file_(std::move(file)), layout_(layout) {}

  RandomAccessFile file_;
  TokenLayout layout_;
};

}  // namespace dllaunch

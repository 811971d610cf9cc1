#include "trainer/data/datasets/token_shard.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace dllaunch {
namespace {

static_assert(std::endian::native == std::endian::little, "ids are read as they are stored");

constexpr std::uint32_t magic = 20240520;
constexpr std::uint32_t version = 1;
constexpr std::uint64_t id_bytes = sizeof(std::uint16_t);

Error bad_shard(std::string what, std::string hint = "") {
  return {ErrorKind::bad_request, std::move(what), std::move(hint)};
}

std::uint32_t header_word(std::span<const std::uint8_t> head, std::size_t index) {
  std::uint32_t value = 0;
  std::memcpy(&value, head.data() + index * sizeof value, sizeof value);
  return value;
}

/// Whether the head is a header, right or wrong.
bool has_header(std::span<const std::uint8_t> head) {
  if (head.size() >= sizeof magic && header_word(head, 0) == magic) return true;
  constexpr std::size_t used = 3 * sizeof(std::uint32_t);
  return head.size() == token_header_bytes &&
         std::ranges::all_of(head.subspan(used), [](std::uint8_t byte) { return byte == 0; }) &&
         std::ranges::any_of(head.first(used), [](std::uint8_t byte) { return byte != 0; });
}

Result<TokenLayout> layout_behind_header(std::span<const std::uint8_t> head, std::uint64_t size) {
  if (head.size() < token_header_bytes) {
    return bad_shard(fmt::format("truncated at offset {}, within the header of {} bytes", size,
                                 token_header_bytes));
  }
  if (header_word(head, 0) != magic) {
    return bad_shard(
        fmt::format("the header's magic at offset 0 is {}, not {}", header_word(head, 0), magic),
        "ids of 16 bits are read, as llm.c writes them for GPT-2");
  }
  if (header_word(head, 1) != version) {
    return bad_shard(fmt::format("the header's version at offset 4 is {}, not {}",
                                 header_word(head, 1), version));
  }
  const std::uint64_t tokens = header_word(head, 2);
  const std::uint64_t end = token_header_bytes + tokens * id_bytes;
  if (size != end) {
    return bad_shard(
        fmt::format("{} at offset {}: by the header's {} tokens (offset 8) it has {} bytes",
                    size < end ? "truncated" : "goes on", std::min(size, end), tokens, end));
  }
  return TokenLayout{token_header_bytes, static_cast<std::int64_t>(tokens)};
}

}  // namespace

Result<TokenLayout> token_layout(std::span<const std::uint8_t> head, std::uint64_t size) {
  if (size == 0) return bad_shard("empty");
  if (has_header(head)) return layout_behind_header(head, size);
  if (size % id_bytes != 0) {
    return bad_shard(fmt::format("ends within a token, at offset {}", size - 1),
                     "a token has two bytes, and the file an odd number of them");
  }
  return TokenLayout{0, static_cast<std::int64_t>(size / id_bytes)};
}

Result<TokenShard> TokenShard::open(const std::filesystem::path& path) {
  auto file = RandomAccessFile::open(path);
  if (!file) return std::move(file).error();
  std::array<std::uint8_t, token_header_bytes> bytes{};
  const auto head = std::span(bytes).first(std::min<std::uint64_t>(bytes.size(), file->size()));
  if (auto read = file->read(0, head); !read) return std::move(read).error();
  auto layout = token_layout(head, file->size());
  if (!layout) return std::move(layout).error().within(path.string());
  return TokenShard(*std::move(file), *layout);
}

Result<Ok> TokenShard::read(std::int64_t first, std::span<std::uint16_t> ids) const {
  return file_.read(layout_.begin + static_cast<std::uint64_t>(first) * id_bytes,
                    {reinterpret_cast<std::uint8_t*>(ids.data()), ids.size_bytes()});
}

Result<Ok> TokenShard::check_ids(std::int64_t first, std::span<const std::uint16_t> ids,
                                 int vocabulary) const {
  // The maximum of a piece vectorises; where it is too large is looked for only then.
  std::uint16_t largest = 0;
  for (const std::uint16_t id : ids) largest = std::max(largest, id);
  if (largest < vocabulary) return Ok{};
  const auto bad = std::ranges::find_if(ids, [&](std::uint16_t id) { return id >= vocabulary; });
  const auto at = static_cast<std::uint64_t>(first + (bad - ids.begin()));
  return bad_shard(fmt::format("{}: token {} at offset {} is not below the vocabulary of {}",
                               path().string(), *bad, layout_.begin + at * id_bytes, vocabulary),
                   "dataset.classes is the number of ids in the vocabulary");
}

Result<Ok> TokenShard::check_ids(std::int64_t first, std::int64_t end, int vocabulary) const {
  constexpr std::int64_t piece = std::int64_t{1} << 19;
  std::vector<std::uint16_t> ids(static_cast<std::size_t>(std::min(piece, end - first)));
  for (; first < end; first += piece) {
    const auto some = std::span(ids).first(static_cast<std::size_t>(std::min(piece, end - first)));
    auto checked = read(first, some);
    if (checked) checked = check_ids(first, some, vocabulary);
    if (!checked) return checked;
  }
  return Ok{};
}

}  // namespace dllaunch

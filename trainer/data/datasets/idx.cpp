#include "trainer/data/datasets/idx.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include <fmt/core.h>

#include "trainer/data/codecs/gzip.hpp"

namespace dllaunch {
namespace {

constexpr std::uint8_t unsigned_byte = 0x08;
constexpr std::uint8_t gzip_begins = 0x1f;

std::uint32_t big_endian(std::span<const std::uint8_t, 4> bytes) {
  return (std::uint32_t{bytes[0]} << 24) | (std::uint32_t{bytes[1]} << 16) |
         (std::uint32_t{bytes[2]} << 8) | std::uint32_t{bytes[3]};
}

Error wrong(std::string what) {
  return {ErrorKind::bad_request, std::move(what), "get the file again"};
}

std::string element_type(std::uint8_t code) {
  switch (code) {
    case 0x09:
      return "signed bytes";
    case 0x0b:
      return "16-bit integers";
    case 0x0c:
      return "32-bit integers";
    case 0x0d:
      return "32-bit floats";
    case 0x0e:
      return "64-bit floats";
    default:
      return fmt::format("the unknown type 0x{:02x}", code);
  }
}

Result<Ok> check_magic(std::span<const std::uint8_t> magic, int dimensions) {
  if (magic[0] != 0 || magic[1] != 0) {
    return wrong(fmt::format("wrong magic number 0x{:02x}{:02x}{:02x}{:02x}: not an IDX file",
                             magic[0], magic[1], magic[2], magic[3]));
  }
  if (magic[2] != unsigned_byte) {
    return wrong("elements are " + element_type(magic[2]) + ", not unsigned bytes");
  }
  if (magic[3] != dimensions) {
    return wrong(fmt::format("wrong magic number: {} dimensions, expected {} ({})", magic[3],
                             dimensions, dimensions == 3 ? "images" : "labels"));
  }
  return Ok{};
}

/// Fills `out`; bad_request if the data ends early.
Result<Ok> read_all(ByteReader& reader, std::span<std::uint8_t> out, std::string_view what) {
  auto count = reader.read(out);
  if (!count) return std::move(count).error();
  if (*count != out.size()) {
    return wrong(fmt::format("truncated: {} bytes of {} are missing", out.size() - *count, what));
  }
  return Ok{};
}

}  // namespace

std::uint64_t idx_bytes_to_read(std::span<const std::uint8_t> start) {
  constexpr std::uint64_t any = std::numeric_limits<std::uint64_t>::max();
  if (start.size() < most_idx_header_bytes || start[0] == gzip_begins) return any;
  const std::size_t dimensions = std::min<std::size_t>(start[3], 3);
  std::uint64_t elements = 1;
  for (std::size_t d = 1; d <= dimensions; ++d) {
    const auto extent = std::uint64_t{big_endian(start.subspan(4 * d).first<4>())};
    if (extent != 0 && elements > any / 2 / extent) return any;
    elements *= extent;
  }
  return most_idx_header_bytes + elements + 1;
}

Result<IdxArray> read_idx(std::span<const std::uint8_t> content, int dimensions) {
  ByteReader reader(content);
  std::array<std::uint8_t, 4> magic{};
  if (auto read = read_all(reader, magic, "the header"); !read) return std::move(read).error();
  if (auto checked = check_magic(magic, dimensions); !checked) return std::move(checked).error();

  IdxArray array;
  std::uint64_t elements = 1;
  for (int d = 0; d < dimensions; ++d) {
    std::array<std::uint8_t, 4> extent{};
    if (auto read = read_all(reader, extent, "the header"); !read) return std::move(read).error();
    array.extents.push_back(big_endian(extent));
    // Compared before multiplying, so that the product cannot overflow; 0 elements always fit.
    if (array.extents.back() != 0 && elements > reader.most_bytes() / array.extents.back()) {
      return wrong(
          fmt::format("truncated: the header claims more than the {} bytes of the file "
                      "can hold",
                      content.size()));
    }
    elements *= array.extents.back();
  }
  // In pieces: a gzip file may claim a thousand times its size and end after a few bytes.
  constexpr std::uint64_t piece = std::uint64_t{64} << 20;
  for (std::uint64_t done = 0; done < elements;) {
    const std::uint64_t count = std::min(piece, elements - done);
    array.values.resize(done + count);
    const auto out = std::span(array.values).subspan(done);
    if (auto read = read_all(reader, out, "data"); !read) return std::move(read).error();
    done += count;
  }
  if (auto end = reader.expect_end(); !end) return std::move(end).error();
  return array;
}

}  // namespace dllaunch

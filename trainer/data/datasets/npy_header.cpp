#include "trainer/data/datasets/npy_header.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

#include <fmt/core.h>

namespace dllaunch {
namespace {

Error bad_header(std::string what, std::string hint = "") {
  return {ErrorKind::bad_request, std::move(what), std::move(hint)};
}

/// Parses the dictionary literal that numpy writes, with its keys in any order: {'descr': '<f4',
/// 'fortran_order': False, 'shape': (3, 4), }.
class DictionaryReader {
 public:
  explicit DictionaryReader(std::string_view text) : rest_(text) {}

  Result<NpyHeader> read() {
    if (!take('{')) return malformed();
    while (!take('}')) {
      const auto key = quoted();
      if (!key || !take(':') || !value(*key)) return malformed();
      if (!take(',') && !at('}')) return malformed();
    }
    if (!descr_ || !fortran_ || !shape_) return malformed();
    if (*fortran_) {
      return bad_header("is in Fortran order", "save numpy.ascontiguousarray(x)");
    }
    return header_of(*descr_);
  }

 private:
  static Error malformed() { return bad_header("damaged .npy header"); }

  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size()));
  }
  bool at(char c) {
    skip_blanks();
    return !rest_.empty() && rest_[0] == c;
  }
  bool take(char c) {
    if (!at(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view word) {
    skip_blanks();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::optional<std::string> quoted() {
    if (!at('\'') && !at('"')) return std::nullopt;
    const auto end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }

  bool value(const std::string& key) {
    if (key == "descr") {
      descr_ = quoted();
      return descr_.has_value();
    }
    if (key == "fortran_order") {
      if (take_word("True")) {
        fortran_ = true;
      } else if (take_word("False")) {
        fortran_ = false;
      }
      return fortran_.has_value();
    }
    return key == "shape" && extents();
  }

  bool extents() {
    if (!take('(')) return false;
    std::vector<std::uint64_t> found;
    while (!take(')')) {
      skip_blanks();
      std::uint64_t extent = 0;
      const auto [end, failed] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (failed != std::errc()) return false;
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      found.push_back(extent);
      if (!take(',') && !at(')')) return false;
    }
    shape_ = std::move(found);
    return true;
  }

  Result<NpyHeader> header_of(const std::string& descr) const {
    NpyHeader header;
    header.shape = *shape_;
    const std::size_t size = descr.size() == 3 ? static_cast<std::size_t>(descr[2] - '0') : 0;
    const bool known =
        (size == 1 || size == 2 || size == 4 || size == 8) &&
        (descr[1] == 'u' || descr[1] == 'i' || descr[1] == 'f' || (descr[1] == 'b' && size == 1));
    if (!known) {
      return bad_header(fmt::format("type {} is not supported", descr),
                        "save .astype('uint8') or .astype('float32')");
    }
    if (descr[0] == '>' && size > 1) {
      return bad_header(fmt::format("type {} is big-endian", descr),
                        fmt::format("save .astype('<{}')", descr.substr(1)));
    }
    header.kind = descr[1];
    header.item_bytes = size;
    return header;
  }

  std::string_view rest_;
  std::optional<std::string> descr_;
  std::optional<bool> fortran_;
  std::optional<std::vector<std::uint64_t>> shape_;
};

}  // namespace

Result<NpyHeader> parse_npy_header(std::span<const std::uint8_t> beginning) {
  constexpr std::string_view magic = "\x93NUMPY";
  const std::string_view text(reinterpret_cast<const char*>(beginning.data()), beginning.size());
  if (!text.starts_with(magic) || text.size() < 10) return bad_header("is not a .npy file");
  const int version = beginning[6];
  if (version < 1 || version > 3) return bad_header(fmt::format("has .npy version {}", version));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t begin = 8 + length_bytes;
  if (text.size() < begin) return bad_header("truncated: ends within the .npy header");
  std::size_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | beginning[8 + i];
  if (length > npy_header_bytes_max - begin) return bad_header("damaged .npy header");
  if (text.size() < begin + length) return bad_header("truncated: ends within the .npy header");
  auto header = DictionaryReader(text.substr(begin, length)).read();
  if (header) header->data_begin = begin + length;
  return header;
}

Result<NpyFile> open_npy(const std::filesystem::path& path) {
  auto file = RandomAccessFile::open(path);
  if (!file) return std::move(file).error();
  std::vector<std::uint8_t> beginning(std::min<std::uint64_t>(file->size(), npy_header_bytes_max));
  if (auto read = file->read(0, beginning); !read) return std::move(read).error();
  auto header = parse_npy_header(beginning);
  if (!header) return std::move(header).error().within(path.string());
  // Compared before multiplying, so that the product cannot overflow.
  std::uint64_t bytes = header->item_bytes;
  bool too_long = false;
  for (const std::uint64_t extent : header->shape) {
    too_long = too_long || (extent != 0 && bytes > file->size() / extent);
    if (!too_long) bytes *= extent;
  }
  const std::uint64_t data = file->size() - header->data_begin;
  if (too_long || bytes != data) {
    return Error{ErrorKind::bad_request,
                 fmt::format("{}: has {} bytes of data, its header says {}", path.string(), data,
                             too_long ? "more" : std::to_string(bytes)),
                 "the file is cut off, or was not written to its end"};
  }
  return NpyFile{*std::move(file), *std::move(header)};
}

}  // namespace dllaunch

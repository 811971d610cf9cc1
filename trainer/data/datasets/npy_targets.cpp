#include "trainer/data/datasets/npy_targets.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

Error wrong_target(const fs::path& file, const std::string& what, std::string hint = "") {
  return {ErrorKind::bad_request, file.string() + ": " + what, std::move(hint)};
}

/// Reads a little-endian integer of 1, 2, 4 or 8 bytes. Values beyond 32 bits are clamped, which
/// makes them invalid labels.
std::int32_t integer_at(std::span<const std::uint8_t> bytes, bool is_signed) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
  const bool negative = is_signed && (bytes.back() & 0x80) != 0;
  if (negative && bytes.size() < 8) value |= ~std::uint64_t{0} << (8 * bytes.size());
  using Limits = std::numeric_limits<std::int32_t>;
  if (!negative) {
    return static_cast<std::int32_t>(std::min(value, static_cast<std::uint64_t>(Limits::max())));
  }
  return static_cast<std::int32_t>(
      std::max(static_cast<std::int64_t>(value), std::int64_t{Limits::min()}));
}

/// Reads a value of any numeric type as float.
float number_at(std::span<const std::uint8_t> bytes, char kind) {
  if (kind != 'f') return static_cast<float>(integer_at(bytes, kind == 'i'));
  if (bytes.size() == sizeof(float)) {
    float value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  double value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return static_cast<float>(value);
}

Result<std::vector<std::int32_t>> read_labels(const NpyFile& opened, std::uint64_t images) {
  const NpyHeader& header = opened.header;
  constexpr std::uint64_t labels_at_once = 65536;
  std::vector<std::uint8_t> piece(labels_at_once * header.item_bytes);
  std::vector<std::int32_t> labels;
  labels.reserve(images);
  for (std::uint64_t done = 0; done < images;) {
    const std::uint64_t count = std::min(labels_at_once, images - done);
    const auto bytes = std::span(piece).first(count * header.item_bytes);
    auto read = opened.file.read(header.data_begin + done * header.item_bytes, bytes);
    if (!read) return std::move(read).error();
    for (std::uint64_t i = 0; i < count; ++i) {
      labels.push_back(
          integer_at(bytes.subspan(i * header.item_bytes, header.item_bytes), header.kind == 'i'));
    }
    done += count;
  }
  return labels;
}

}  // namespace

Result<Ok> NpyTargets::read(std::int64_t index, std::span<float> row) const {
  const std::size_t item = file.header.item_bytes;
  std::vector<std::uint8_t> bytes(row.size() * item);
  const auto begin = file.header.data_begin + static_cast<std::uint64_t>(index) * bytes.size();
  if (auto read = file.file.read(begin, bytes); !read) return std::move(read).error();
  for (std::size_t k = 0; k < row.size(); ++k) {
    row[k] = number_at(std::span(bytes).subspan(k * item, item), file.header.kind);
    if (!std::isfinite(row[k])) {
      return wrong_target(
          file.file.path(),
          fmt::format("number {} of image {} is not finite in single precision", k, index));
    }
    if (kind == TargetKind::class_set && row[k] != 0 && row[k] != 1) {
      return wrong_target(
          file.file.path(),
          fmt::format("class {} of image {} is neither 0 nor 1: {}", k, index, row[k]));
    }
  }
  return Ok{};
}

Result<NpyTargets> open_npy_targets(const fs::path& path, std::uint64_t images) {
  auto opened = open_npy(path);
  if (!opened) return std::move(opened).error();
  const NpyHeader& header = opened->header;
  const auto& shape = header.shape;
  const bool real = header.kind == 'f';
  if ((shape.size() != 1 && shape.size() != 2) || shape[0] != images) {
    return wrong_target(path, fmt::format("labels have shape ({}), there are {} images",
                                          fmt::join(shape, ", "), images));
  }
  if (real && header.item_bytes < sizeof(float)) {
    return wrong_target(path, fmt::format("labels are of type f{}", header.item_bytes),
                        "save .astype('float32')");
  }
  constexpr std::uint64_t widest = 1 << 20;
  if (shape.size() == 2 && (shape[1] < 1 || shape[1] > widest)) {
    return wrong_target(path, fmt::format("labels have shape ({})", fmt::join(shape, ", ")));
  }
  const bool table = shape.size() == 2;
  const int width = table ? static_cast<int>(shape[1]) : 1;
  NpyTargets targets{.file = *std::move(opened)};
  if (real || table) {
    targets.kind = real ? TargetKind::values : TargetKind::class_set;
    targets.width = width;
    return targets;
  }
  auto labels = read_labels(targets.file, images);
  if (!labels) return std::move(labels).error();
  targets.labels = *std::move(labels);
  return targets;
}

}  // namespace dllaunch

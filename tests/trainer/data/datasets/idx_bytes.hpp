// IDX files as bytes, plain and gzip-compressed, and a small data set of them.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tests/trainer/scratch_folder.hpp"

namespace dllaunch {

inline std::string idx_bytes(const std::vector<std::uint32_t>& extents, const std::string& values) {
  std::string bytes{'\0', '\0', '\x08', static_cast<char>(extents.size())};
  for (const std::uint32_t extent : extents) {
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(extent >> shift & 0xff);
  }
  return bytes + values;
}

inline std::string packed(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::span<const std::uint8_t> as_content(const std::string& bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

constexpr std::uint32_t small_images = 40;

/// Returns `count` grey images of 28x28; pixels and labels are functions of the index.
inline std::string image_file(std::uint32_t count) {
  std::string pixels;
  for (std::uint32_t i = 0; i < count * 784; ++i) pixels += static_cast<char>(i * 7 % 251);
  return idx_bytes({count, 28, 28}, pixels);
}

inline std::string label_file(std::uint32_t count) {
  std::string labels;
  for (std::uint32_t i = 0; i < count; ++i) labels += static_cast<char>(i % 10);
  return idx_bytes({count}, labels);
}

/// Writes the four files of MNIST, with compressed training images.
inline void write_small_mnist(const std::filesystem::path& folder) {
  write_text(folder / "train-images-idx3-ubyte.gz", packed(image_file(small_images)));
  write_text(folder / "train-labels-idx1-ubyte", label_file(small_images));
  write_text(folder / "t10k-images-idx3-ubyte", image_file(10));
  write_text(folder / "t10k-labels-idx1-ubyte.gz", packed(label_file(10)));
}

}  // namespace dllaunch

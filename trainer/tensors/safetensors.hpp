// Tensor files in safetensors format, which PyTorch, JAX and others read, and tensors as values.
// Knows nothing about checkpoints, optimisers or models.
//
// Layout: 8-byte little-endian length N, N bytes of JSON header (padded with spaces so that the
// data starts on 8 bytes), then the tensors' bytes without holes, little-endian, C order.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/numerics/dtype.hpp"
#include "support/result.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

struct Tensor {
  std::string name;
  DType type = DType::f32;  // f32, f64, f16, bf16 or i64
  Shape shape;
  std::vector<std::byte> data;  // elements_of(shape) * bytes_of(type)
};

struct TensorFile {
  std::vector<Tensor> tensors;
  std::map<std::string, std::string> metadata;  // the header's __metadata__
};

/// Returns the header, preceded by its length. The file continues with the data of the sorted
/// tensors. Sorts `file.tensors` by element size (largest first, which keeps the data aligned),
/// then by name.
std::string render_safetensors_header(TensorFile& file);

/// Returns the tensors of a file's content, sorted by name. bad_request if the content departs from
/// the layout: a truncated header, one longer than 100 MB, invalid JSON or a duplicate key; an
/// unknown type; an inconsistent shape, size or offset; holes, overlaps or trailing bytes.
Result<TensorFile> parse_safetensors(std::span<const std::byte> content);

/// For messages: cuts the name at 80 characters and replaces non-printable ones by '?'. Names in a
/// file are untrusted input.
std::string shown_name(std::string_view name);
std::string shown_shape(const Shape& shape);

/// Same as parse_safetensors(), with the file's name in front of its errors. bad_request if there
/// is no such file.
Result<TensorFile> read_safetensors(const std::filesystem::path& file);

}  // namespace dllaunch

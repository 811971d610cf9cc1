// Tensors in a file that PyTorch, JAX and others load as it is.
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

/// The header with its length in front; the sorted tensors' data follows it byte for byte.
/// Sorts `file.tensors` by name, those with larger elements first: readers want data aligned.
std::string render_safetensors_header(TensorFile& file);

/// Reads the content of a file. bad_request: anything that is not exactly the layout: a header
/// that is cut off, longer than 100 MB, not JSON or has a key twice; an unknown type; a shape,
/// size or offset that does not fit; holes, overlaps and bytes that belong to no tensor. Tensors
/// are sorted by name.
Result<TensorFile> parse_safetensors(std::span<const std::byte> content);

/// For people. Files are other people's: a name may have a megabyte, or move the cursor.
std::string shown_name(std::string_view name);
std::string shown_shape(const Shape& shape);

/// bad_request: no such file, or as parse_safetensors(), beginning with the file's name.
Result<TensorFile> read_safetensors(const std::filesystem::path& file);

}  // namespace dllaunch

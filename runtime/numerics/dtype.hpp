// Numerics: element types, 16-bit floats and SIMD vectors.
// Knows no communicators, tensors or GPUs; includes no other room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dllaunch {

enum class DType : std::uint8_t { f32, f64, f16, bf16, i64, u8 };

constexpr std::size_t bytes_of(DType type) {
  switch (type) {
    case DType::f32:
      return 4;
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::u8:
      return 1;
  }
  return 0;
}

constexpr std::string_view to_string(DType type) {
  switch (type) {
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::i64:
      return "i64";
    case DType::u8:
      return "u8";
  }
  return "";
}

}  // namespace dllaunch

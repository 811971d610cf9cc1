// Element types that cross communicators and arenas.
#pragma once

#include <cstddef>
#include <string_view>

namespace dllaunch {

enum class DType { f32, f64, i64, u8 };

constexpr std::size_t bytes_of(DType type) {
  switch (type) {
    case DType::f32:
      return 4;
    case DType::f64:
    case DType::i64:
      return 8;
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
    case DType::i64:
      return "i64";
    case DType::u8:
      return "u8";
  }
  return "";
}

}  // namespace dllaunch

#include "trainer/tensors/tensor_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include "runtime/numerics/float16.hpp"

namespace dllaunch {
namespace {

template <typename Raw, typename Widen>
std::vector<double> widened(std::span<const std::byte> bytes, Widen widen) {
  std::vector<double> values(bytes.size() / sizeof(Raw));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Raw raw{};
    std::memcpy(&raw, bytes.data() + i * sizeof raw, sizeof raw);
    values[i] = widen(raw);
  }
  return values;
}

template <typename Raw, typename Narrow>
std::vector<std::byte> narrowed(std::span<const double> values, Narrow narrow) {
  std::vector<std::byte> bytes(values.size() * sizeof(Raw));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Raw raw = narrow(values[i]);
    std::memcpy(bytes.data() + i * sizeof raw, &raw, sizeof raw);
  }
  return bytes;
}

std::int64_t whole(double value) {
  constexpr double largest = 0x1p62;
  return std::abs(value) < largest ? std::llrint(value) : 0;
}

}  // namespace

std::vector<double> values_of(const Tensor& tensor) {
  const auto plain = [](auto raw) { return static_cast<double>(raw); };
  const auto half = [](auto raw) { return static_cast<double>(to_float(raw)); };
  switch (tensor.type) {
    case DType::f32:
      return widened<float>(tensor.data, plain);
    case DType::f64:
      return widened<double>(tensor.data, plain);
    case DType::f16:
      return widened<Float16>(tensor.data, half);
    case DType::bf16:
      return widened<BFloat16>(tensor.data, half);
    case DType::i64:
      return widened<std::int64_t>(tensor.data, plain);
    case DType::u8:
      break;
  }
  return {};
}

std::vector<std::byte> bytes_of(std::span<const double> values, DType type) {
  if (type == DType::i64) return narrowed<std::int64_t>(values, whole);
  if (type == DType::f64) return narrowed<double>(values, [](double value) { return value; });
  return narrowed<float>(values, [](double value) { return static_cast<float>(value); });
}

Tensor as_type(Tensor tensor, DType type) {
  if (tensor.type == type) return tensor;
  tensor.data = bytes_of(values_of(tensor), type);
  tensor.type = type;
  return tensor;
}

}  // namespace dllaunch

// Conversions between tensors of any element type and double.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "trainer/tensors/safetensors.hpp"

namespace dllaunch {

/// Returns the elements as double; exact except for integers beyond 2^53. Takes f32, f64, f16, bf16
/// and i64.
std::vector<double> values_of(const Tensor& tensor);

/// Returns the values as bytes of type f32, f64 or i64, rounded to nearest. For i64, NaN and values
/// out of range become 0.
std::vector<std::byte> bytes_of(std::span<const double> values, DType type);

/// Returns the tensor converted to f32, f64 or i64; unchanged if it has that type.
Tensor as_type(Tensor tensor, DType type);

}  // namespace dllaunch

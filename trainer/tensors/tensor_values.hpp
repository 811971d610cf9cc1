// The numbers of a tensor, whatever its type.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "trainer/tensors/safetensors.hpp"

namespace dllaunch {

/// Of f32, f64, f16, bf16 or i64. Exact, but for whole numbers beyond 2^53.
std::vector<double> values_of(const Tensor& tensor);

/// Their bytes in `type`: f32, f64 or i64. Rounded to the nearest; what is no number, or too large
/// for a whole one, counts as 0 there.
std::vector<std::byte> bytes_of(std::span<const double> values, DType type);

/// The same tensor in another of those types; as it is where it has that type.
Tensor as_type(Tensor tensor, DType type);

}  // namespace dllaunch

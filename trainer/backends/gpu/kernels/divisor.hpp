// Division of indexes by numbers that the host knows: a multiplication, where a GPU's integer
// division takes dozens of instructions.
#pragma once

#include <cassert>
#include <cstdint>

namespace dllaunch::gpu {

__extension__ using Unsigned128 = unsigned __int128;

/// A number d from 1 to 2^63 - 1; index / d and index % d are exact for every index from 0 to
/// 2^63 - 1. With d <= 2^shift and multiplier = ceil(2^(63 + shift) / d), the quotient is
/// floor(index * multiplier / 2^(63 + shift)): Granlund and Montgomery 1994, theorem 4.2, for words
/// of 63 bits.
class Divisor {
 public:
  constexpr Divisor() = default;
  /// Implicit, so that functors are initialised from sizes. For the host: it divides.
  constexpr Divisor(std::int64_t by) : value_(by) {
    assert(by > 0);
    while ((std::uint64_t{1} << shift_) < static_cast<std::uint64_t>(by)) ++shift_;
    const auto d = static_cast<std::uint64_t>(by);
    multiplier_ = static_cast<std::uint64_t>(((Unsigned128{1} << (63 + shift_)) + d - 1) / d);
  }

  constexpr operator std::int64_t() const { return value_; }
  friend constexpr std::int64_t operator/(std::int64_t index, const Divisor& by) {
    const auto doubled = static_cast<std::uint64_t>(index) << 1;
    const auto high = static_cast<std::uint64_t>((Unsigned128{doubled} * by.multiplier_) >> 64);
    return static_cast<std::int64_t>(high >> by.shift_);
  }
  friend constexpr std::int64_t operator%(std::int64_t index, const Divisor& by) {
    return index - index / by * by.value_;
  }

 private:
  std::int64_t value_ = 1;
  std::uint64_t multiplier_ = std::uint64_t{1} << 63;
  std::uint32_t shift_ = 0;
};

}  // namespace dllaunch::gpu

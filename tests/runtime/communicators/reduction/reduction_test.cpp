#include "runtime/communicators/reduction/reduction.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "runtime/numerics/float16.hpp"

namespace dllaunch {
namespace {

// The definition of reduce(), one element at a time.
template <typename T>
T add_up(const std::vector<T>& values, ReduceOp op, int ranks) {
  using A = std::conditional_t<std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>, float, T>;
  const auto wide = [](T x) -> A {
    if constexpr (std::is_same_v<T, A>) {
      return x;
    } else {
      return to_float(x);
    }
  };
  A result = wide(values[0]);
  for (std::size_t i = 1; i < values.size(); ++i) {
    const A next = wide(values[i]);
    if (op == ReduceOp::sum || op == ReduceOp::average) {
      result = static_cast<A>(result + next);
    } else if (std::isnan(static_cast<double>(result)) || std::isnan(static_cast<double>(next))) {
      result = static_cast<A>(std::numeric_limits<double>::quiet_NaN());
    } else if (op == ReduceOp::min) {
      result = std::min(result, next);
    } else {
      result = std::max(result, next);
    }
  }
  if (op == ReduceOp::average) result = static_cast<A>(result / static_cast<A>(ranks));
  if constexpr (std::is_same_v<T, Float16>) {
    return to_float16(result);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return to_bfloat16(result);
  } else {
    return result;
  }
}

bool same_bits_or_nan(auto a, auto b) {
  if constexpr (requires { a.bits; }) {
    const bool nan = std::isnan(to_float(a)) && std::isnan(to_float(b));
    return nan || a.bits == b.bits;
  } else {
    const bool nan = std::isnan(static_cast<double>(a)) && std::isnan(static_cast<double>(b));
    return nan || std::memcmp(&a, &b, sizeof a) == 0;
  }
}

/// Sources of one size, each `skew` bytes off alignment, followed by guard bytes; some are
/// destinations too.
template <typename T>
class Sources {
 public:
  Sources(std::size_t sources, std::size_t count, std::size_t skew, unsigned seed)
      : count_(count), skew_(skew) {
    std::mt19937 random(seed);
    for (std::size_t s = 0; s < sources; ++s) {
      auto& memory = memory_.emplace_back(skew + count * sizeof(T) + fence, mark);
      for (std::size_t i = 0; i < count; ++i) {
        const auto word = random();
        T value;
        if constexpr (std::is_same_v<T, double>) {
          value = std::ldexp(static_cast<double>(word), static_cast<int>(random() % 64) - 48);
        } else {
          std::memcpy(&value, &word, std::min(sizeof value, sizeof word));
        }
        std::memcpy(memory.data() + skew + i * sizeof(T), &value, sizeof value);
      }
    }
  }

  std::byte* data(std::size_t s) { return memory_[s].data() + skew_; }
  T get(std::size_t s, std::size_t i) const {
    T value;
    std::memcpy(&value, memory_[s].data() + skew_ + i * sizeof(T), sizeof value);
    return value;
  }
  std::vector<T> all(std::size_t i) const {
    std::vector<T> values;
    for (std::size_t s = 0; s < memory_.size(); ++s) values.push_back(get(s, i));
    return values;
  }
  void expect_fences(std::size_t s) const {
    for (std::size_t i = skew_ + count_ * sizeof(T); i < memory_[s].size(); ++i) {
      ASSERT_EQ(memory_[s][i], mark);
    }
  }

 private:
  static constexpr std::size_t fence = 64;
  static constexpr std::byte mark{0xA5};
  std::size_t count_;
  std::size_t skew_;
  std::vector<std::vector<std::byte>> memory_;
};

template <typename T>
void check(const ReductionVariant& variant, DType type, ReduceOp op, std::size_t sources,
           std::size_t destinations, std::size_t count, std::size_t skew) {
  Sources<T> memory(sources, count, skew, static_cast<unsigned>(count + sources));
  const Sources<T> before = memory;
  std::vector<const std::byte*> from;
  std::vector<std::byte*> to;
  for (std::size_t s = 0; s < sources; ++s) from.push_back(memory.data(s));
  for (std::size_t d = 0; d < destinations; ++d) to.push_back(memory.data(d));
  const int ranks = static_cast<int>(sources) * 3;
  variant.reduce({type, op, ranks}, from, to, count);
  for (std::size_t s = 0; s < sources; ++s) memory.expect_fences(s);
  for (std::size_t i = 0; i < count; ++i) {
    const T expected = add_up(before.all(i), op, ranks);
    for (std::size_t d = 0; d < destinations; ++d) {
      ASSERT_TRUE(same_bits_or_nan(memory.get(d, i), expected))
          << to_string(type) << " " << to_string(op) << " of " << sources << ", element " << i
          << " of " << count;
    }
    for (std::size_t s = destinations; s < sources; ++s) {
      ASSERT_TRUE(same_bits_or_nan(memory.get(s, i), before.get(s, i))) << "only read";
    }
  }
}

template <typename T>
void check_all(const ReductionVariant& variant, DType type) {
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::max}) {
    // Around every vector width, and around four vectors.
    for (const std::size_t count :
         {0u, 1u, 3u, 4u, 15u, 16u, 17u, 63u, 64u, 65u, 255u, 257u, 1001u}) {
      for (const std::size_t skew : {0u, 1u}) {
        check<T>(variant, type, op, 1, 1, count, skew);
        check<T>(variant, type, op, 2, 2, count, skew);
        check<T>(variant, type, op, 2, 1, count, skew);
        check<T>(variant, type, op, 3, 3, count, skew);
        check<T>(variant, type, op, 7, 1, count, skew);
      }
    }
  }
}

// Random bits include NaN, infinities and subnormal numbers.
TEST(Reduction, IsWhatItsDefinitionSaysWithEveryInstructionSet) {
  for (const ReductionVariant& variant : reduction_variants()) {
    SCOPED_TRACE(variant.name);
    check_all<float>(variant, DType::f32);
    check_all<double>(variant, DType::f64);
    check_all<Float16>(variant, DType::f16);
    check_all<BFloat16>(variant, DType::bf16);
    check_all<std::uint8_t>(variant, DType::u8);
  }
}

TEST(Reduction, OfWholeNumbersTruncatesTheAverage) {
  const std::vector<std::int64_t> a = {-7, 7, 9'000'000'000'000'000'000, 0};
  std::vector<std::int64_t> b = {0, 0, -1, 1};
  const std::byte* from[] = {reinterpret_cast<const std::byte*>(a.data()),
                             reinterpret_cast<const std::byte*>(b.data())};
  std::byte* to[] = {reinterpret_cast<std::byte*>(b.data())};
  reduce({DType::i64, ReduceOp::average, 2}, from, to, b.size());
  EXPECT_EQ(b, (std::vector<std::int64_t>{-3, 3, 4'499'999'999'999'999'999, 0}));
}

TEST(Reduction, SumsOfIntegersWrapAround) {
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  // More than the vectors of one step, so that the rest counts too.
  const std::vector<std::int64_t> a(67, largest);
  std::vector<std::int64_t> b(67, 2);
  const std::array<const std::byte*, 2> from = {reinterpret_cast<const std::byte*>(a.data()),
                                                reinterpret_cast<const std::byte*>(b.data())};
  const std::array<std::byte*, 1> to = {reinterpret_cast<std::byte*>(b.data())};
  reduce({DType::i64, ReduceOp::sum}, from, to, b.size());
  EXPECT_EQ(b, std::vector<std::int64_t>(67, std::numeric_limits<std::int64_t>::min() + 1));
}

TEST(Reduction, OfBytesSurvives256Ranks) {
  std::vector<std::uint8_t> bytes(100, 3);
  const std::array<const std::byte*, 1> from = {reinterpret_cast<const std::byte*>(bytes.data())};
  const std::array<std::byte*, 1> to = {reinterpret_cast<std::byte*>(bytes.data())};
  for (const ReductionVariant& variant : reduction_variants()) {
    SCOPED_TRACE(variant.name);
    variant.reduce({DType::u8, ReduceOp::average, 256}, from, to, bytes.size());
    EXPECT_EQ(bytes[99], 3);
  }
}

}  // namespace
}  // namespace dllaunch

// Compares the loops of batch normalisation with their definition in double. backend_test.cpp
// compares whole layers with `reference`.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/numerics/float16.hpp"
#include "trainer/backends/onednn/norm_kernels.hpp"

namespace dllaunch::onednn {
namespace {

/// Activations of one piece, in the kernels' element type and as numbers.
struct Elements {
  std::vector<std::byte> bytes;
  DType type;

  Elements(DType element, std::size_t count) : bytes(count * bytes_of(element)), type(element) {}

  void set(std::size_t i, float value) {
    if (type == DType::bf16) {
      const BFloat16 half = to_bfloat16(value);
      std::memcpy(&bytes[2 * i], &half, 2);
    } else {
      std::memcpy(&bytes[4 * i], &value, 4);
    }
  }
  double operator[](std::size_t i) const {
    BFloat16 half{};
    float whole = 0;
    if (type == DType::bf16) {
      std::memcpy(&half, &bytes[2 * i], 2);
      return to_float(half);
    }
    std::memcpy(&whole, &bytes[4 * i], 4);
    return whole;
  }
};

struct Case {
  DType type = DType::f32;
  std::size_t pixels = 1;
  std::size_t lanes = 1;
  bool relu = false;
  bool second = false;  // a skip, or a second part
};

/// Random inputs of all four kernels.
struct Piece {
  Case of;
  Elements x, skip, y, part, other;
  std::vector<float> mean, scale, shift, inv_std, grad_mean, proj_scale;

  Piece(const Case& one, std::mt19937& random)
      : of(one),
        x(numbers(random)),
        skip(numbers(random)),
        y(numbers(random)),
        part(numbers(random)),
        other(numbers(random)),
        mean(channels(random)),
        scale(channels(random)),
        shift(channels(random)),
        inv_std(channels(random)),
        grad_mean(channels(random)),
        proj_scale(channels(random)) {}

  std::size_t size() const { return of.pixels * of.lanes; }
  NormPiece bound() const {
    NormPiece piece{.pixels = of.pixels, .lanes = of.lanes};
    piece.x = x.bytes.data();
    piece.mean = mean.data();
    piece.scale = scale.data();
    piece.shift = shift.data();
    piece.inv_std = inv_std.data();
    piece.grad_mean = grad_mean.data();
    piece.proj_scale = proj_scale.data();
    piece.relu = of.relu;
    return piece;
  }
  double mean_of(std::size_t i) const { return mean[i % of.lanes]; }

 private:
  Elements numbers(std::mt19937& random) const {
    std::normal_distribution<float> normal(0.3F);
    Elements all(of.type, of.pixels * of.lanes);
    for (std::size_t i = 0; i < of.pixels * of.lanes; ++i) all.set(i, normal(random));
    return all;
  }
  std::vector<float> channels(std::mt19937& random) const {
    std::uniform_real_distribution<float> uniform(0.5F, 1.5F);
    std::vector<float> all(of.lanes);
    for (float& value : all) value = uniform(random);
    return all;
  }
};

/// Returns the tolerance for values rounded once to the element type.
double tolerance(DType type) {
  return type == DType::bf16 ? 5e-3 : 2e-6;
}

std::string name_of(const NormKernels& kernels, const Case& one) {
  return std::string(kernels.name) + (one.type == DType::bf16 ? " bf16 " : " f32 ") +
         std::to_string(one.pixels) + "x" + std::to_string(one.lanes) + (one.relu ? " relu" : "") +
         (one.second ? " second" : "");
}

/// Runs `check` for every instruction set, both element types, and shapes with and without a
/// remainder.
template <typename Check>
void for_each_case(const Check& check) {
  std::mt19937 random(11);
  for (const DType type : {DType::f32, DType::bf16}) {
    for (const NormKernels& kernels : norm_kernel_variants(type)) {
      for (const std::size_t pixels : {1, 3, 16, 49}) {
        for (const std::size_t lanes : {1, 3, 8, 16, 19, 64}) {
          for (const int options : {0, 1, 2, 3}) {
            const Case one{type, pixels, lanes, options % 2 == 1, options > 1};
            SCOPED_TRACE(name_of(kernels, one));
            check(kernels, Piece(one, random));
          }
        }
      }
    }
  }
}

TEST(NormKernels, MeasureMeansAndSquaredDistances) {
  for_each_case([](const NormKernels& kernels, const Piece& piece) {
    const std::size_t lanes = piece.of.lanes;
    std::vector<float> mean(lanes, 7);
    std::vector<float> squares(lanes, 7);
    kernels.measure(piece.bound(), mean.data(), squares.data());
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      double sum = 0;
      for (std::size_t i = lane; i < piece.size(); i += lanes) sum += piece.x[i];
      const double middle = sum / static_cast<double>(piece.of.pixels);
      double expected = 0;
      for (std::size_t i = lane; i < piece.size(); i += lanes) {
        expected += (piece.x[i] - middle) * (piece.x[i] - middle);
      }
      ASSERT_NEAR(mean[lane], middle, 1e-6);
      ASSERT_NEAR(squares[lane], expected, 1e-5 * (1 + expected));
    }
  });
}

TEST(NormKernels, MeasureSmallDistancesFromALargeMean) {
  for (const NormKernels& kernels : norm_kernel_variants(DType::f32)) {
    std::mt19937 random(1);
    Piece piece({.pixels = 1000, .lanes = 16}, random);
    for (std::size_t i = 0; i < piece.size(); ++i) piece.x.set(i, i % 32 < 16 ? 4096.F : 4097.F);
    std::vector<float> mean(16);
    std::vector<float> squares(16);
    kernels.measure(piece.bound(), mean.data(), squares.data());
    EXPECT_NEAR(mean[5], 4096.5, 1e-3) << kernels.name;
    EXPECT_NEAR(squares[5], 250, 0.01) << kernels.name << ": E[x^2] - E[x]^2 would lose it";
  }
}

TEST(NormKernels, Normalise) {
  for_each_case([](const NormKernels& kernels, const Piece& piece) {
    Elements y(piece.of.type, piece.size());
    NormPiece bound = piece.bound();
    if (piece.of.second) bound.skip = piece.skip.bytes.data();
    bound.y = y.bytes.data();
    kernels.normalise(bound);
    for (std::size_t i = 0; i < piece.size(); ++i) {
      const std::size_t lane = i % piece.of.lanes;
      double expected = (piece.x[i] - piece.mean_of(i)) * piece.scale[lane] + piece.shift[lane];
      if (piece.of.second) expected += piece.skip[i];
      if (piece.of.relu && expected < 0) expected = 0;
      ASSERT_NEAR(y[i], expected, tolerance(piece.of.type) * (1 + std::abs(expected)));
    }
  });
}

/// Compilers fuse a product with its sum in one form of a loop and not in another, so equal sums
/// may differ in their last bits.
void expect_near(const std::vector<float>& sums, const std::vector<float>& others,
                 const Piece& piece) {
  const double allowed = 1e-6 * static_cast<double>(piece.of.pixels);
  for (std::size_t lane = 0; lane < sums.size(); ++lane) {
    EXPECT_NEAR(sums[lane], others[lane], allowed);
  }
}

TEST(NormKernels, SumGradients) {
  for_each_case([](const NormKernels& kernels, const Piece& piece) {
    const std::size_t lanes = piece.of.lanes;
    Elements masked(piece.of.type, piece.size());
    NormPiece bound = piece.bound();
    bound.parts[0] = piece.part.bytes.data();
    if (piece.of.second) bound.parts[1] = piece.other.bytes.data();
    Elements y = piece.y;
    bound.y = y.bytes.data();
    bound.masked = masked.bytes.data();
    std::vector<float> dy(lanes, 7);
    std::vector<float> dy_z(lanes, 7);
    kernels.sum(bound, dy.data(), dy_z.data());
    std::vector<double> sums(lanes);
    std::vector<double> products(lanes);
    for (std::size_t i = 0; i < piece.size(); ++i) {
      double expected = piece.part[i] + (piece.of.second ? piece.other[i] : 0);
      if (piece.of.relu && piece.y[i] <= 0) expected = 0;
      ASSERT_NEAR(masked[i], expected, tolerance(piece.of.type) * (1 + std::abs(expected)));
      sums[i % lanes] += expected;
      products[i % lanes] += expected * (piece.x[i] - piece.mean_of(i)) * piece.inv_std[i % lanes];
    }
    const double allowed = 1e-5 * static_cast<double>(piece.of.pixels);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      ASSERT_NEAR(dy[lane], sums[lane], allowed);
      ASSERT_NEAR(dy_z[lane], products[lane], allowed);
    }

    // Without an output for dy, and with dy in place of a part.
    bound.masked = nullptr;
    std::vector<float> again(lanes);
    std::vector<float> again_z(lanes);
    kernels.sum(bound, again.data(), again_z.data());
    EXPECT_EQ(again, dy);
    expect_near(again_z, dy_z, piece);
    Elements in_place = piece.part;
    bound.parts[0] = bound.masked = in_place.bytes.data();
    kernels.sum(bound, again.data(), again_z.data());
    EXPECT_EQ(again, dy);
    EXPECT_EQ(in_place.bytes, masked.bytes);
  });
}

/// Returns the kernels' y.
Elements normalised(const NormKernels& kernels, const Piece& piece) {
  Elements y(piece.of.type, piece.size());
  NormPiece bound = piece.bound();
  bound.y = y.bytes.data();
  kernels.normalise(bound);
  return y;
}

TEST(NormKernels, SumWithTheSignOfYFromX) {
  for_each_case([](const NormKernels& kernels, const Piece& piece) {
    Elements y = normalised(kernels, piece);
    const auto sums = [&](std::byte* known) {
      Elements masked(piece.of.type, piece.size());
      NormPiece bound = piece.bound();
      bound.parts[0] = piece.part.bytes.data();
      if (piece.of.second) bound.parts[1] = piece.other.bytes.data();
      bound.y = known;
      bound.masked = masked.bytes.data();
      std::vector<float> dy(piece.of.lanes);
      std::vector<float> dy_z(piece.of.lanes);
      kernels.sum(bound, dy.data(), dy_z.data());
      return std::tuple(masked.bytes, dy, dy_z);
    };
    const auto [masked, dy, dy_z] = sums(nullptr);
    const auto [masked_by_y, dy_by_y, dy_z_by_y] = sums(y.bytes.data());
    EXPECT_EQ(masked, masked_by_y);
    EXPECT_EQ(dy, dy_by_y);
    expect_near(dy_z, dy_z_by_y, piece);
  });
}

TEST(NormKernels, GoBack) {
  for_each_case([](const NormKernels& kernels, const Piece& piece) {
    const Elements y = normalised(kernels, piece);
    Elements dx = piece.part;  // in dy's place
    NormPiece bound = piece.bound();
    bound.dy = dx.bytes.data();
    bound.dx = dx.bytes.data();
    kernels.backward(bound);
    for (std::size_t i = 0; i < piece.size(); ++i) {
      const std::size_t lane = i % piece.of.lanes;
      const double z = (piece.x[i] - piece.mean_of(i)) * piece.proj_scale[lane];
      const double dy = piece.of.relu && y[i] <= 0 ? 0 : piece.part[i];
      const double expected = (dy - piece.grad_mean[lane] - z) * piece.scale[lane];
      ASSERT_NEAR(dx[i], expected, tolerance(piece.of.type) * (1 + std::abs(expected)));
    }
  });
}

TEST(NormKernels, LetNaNThroughTheRelu) {
  for_each_case([](const NormKernels& kernels, Piece piece) {
    piece.x.set(0, std::numeric_limits<float>::quiet_NaN());
    EXPECT_TRUE(std::isnan(normalised(kernels, piece)[0]));
  });
}

TEST(NormKernels, TheWidestIsTaken) {
  for (const DType type : {DType::f32, DType::bf16}) {
    EXPECT_STREQ(norm_kernels(type).name, norm_kernel_variants(type).back().name);
  }
}

}  // namespace
}  // namespace dllaunch::onednn

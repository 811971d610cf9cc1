// bench/gpu/ceilings.cpp on the host in place of a GPU: checks what it runs and counts.
#include "bench/gpu/ceilings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "tests/support/host_gpu/host_math.hpp"

namespace dllaunch::gpu {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr CeilingSizes small{.side = 24, .copied = 4096, .runs = 2, .rounds = 3};

/// A matmul that takes a minimum time, and much longer on the first call.
class SlowMatmul final : public Matmul {
 public:
  SlowMatmul(std::unique_ptr<Matmul> computes, int& runs)
      : computes_(std::move(computes)), runs_(runs) {}
  std::size_t workspace() const override { return computes_->workspace(); }
  void run(GpuStream stream, const void* a, const void* b, void* c, bool add,
           void* workspace) override {
    std::this_thread::sleep_for(runs_++ == 0 ? 200ms : 5ms);
    computes_->run(stream, a, b, c, add, workspace);
  }

 private:
  std::unique_ptr<Matmul> computes_;
  int& runs_;
};

class MeasuredCeilings : public testing::Test {
 protected:
  Result<Ceilings> measure(DType type, const CeilingSizes& sizes = small) {
    const auto make = [this](const MatmulShape& shape) -> Result<std::unique_ptr<Matmul>> {
      asked_ = shape;
      auto made = math_->matmul(shape);
      if (!made) return made;
      return std::unique_ptr<Matmul>(std::make_unique<SlowMatmul>(*std::move(made), runs_));
    };
    return measure_ceilings(make, {.type = type}, sizes);
  }

  std::unique_ptr<MathLibrary> math_ = make_host_math();
  MatmulShape asked_;
  int runs_ = 0;
};

TEST_F(MeasuredCeilings, AreOfTheFastestRound) {
  for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
    runs_ = 0;
    const auto ceilings = measure(type);
    ASSERT_TRUE(ceilings) << ceilings.error().what;
    EXPECT_EQ(runs_, 2 * (1 + 3)) << "a round that does not count, and three";
    EXPECT_EQ(asked_.in, type);
    EXPECT_EQ(asked_.depth, 24);
    const double operations = 2.0 * 24 * 24 * 24;
    EXPECT_LT(ceilings->operations_per_s, operations / 0.005);
    EXPECT_GT(ceilings->operations_per_s, operations / 0.1) << "the slow first one counts not";
    EXPECT_GT(ceilings->bytes_per_s, 0);
  }
  EXPECT_TRUE(host_gpus().pieces.empty()) << "what was allocated is given back";
}

TEST_F(MeasuredCeilings, OfASmallGpuCopyLess) {
  const std::size_t there = std::exchange(host_gpus().bytes_each, std::size_t{64} << 10);
  const auto ceilings = measure(DType::f32);  // two copies of 4 KiB; the limit is 8
  const auto wanted = measure(DType::f32, {.side = 24, .copied = 1 << 30, .runs = 1, .rounds = 1});
  const auto none = measure(DType::f32, {.side = 1024, .copied = 4096, .runs = 1, .rounds = 1});
  host_gpus().bytes_each = there;
  EXPECT_TRUE(ceilings) << ceilings.error().what;
  EXPECT_TRUE(wanted) << wanted.error().what;
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().what, HasSubstr("12 MiB of the GPU to measure it with"));
}

TEST_F(MeasuredCeilings, SayWhatTheLibraryLacks) {
  const auto refused = measure_ceilings(
      [](const MatmulShape&) -> Result<std::unique_ptr<Matmul>> {
        return Error{ErrorKind::unavailable, "no such product", ""};
      },
      {.type = DType::bf16}, small);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "no such product");
}

/// As many bytes as step_costs_test.cpp counts for such passes.
TEST(MeasuredKernels, AreThoseOfANormalisationAndAnAddition) {
  for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
    const std::size_t before = host_gpus().kernels;
    const auto rates = measure_kernels(type, 640, 16, {.runs = 2, .rounds = 3});
    ASSERT_TRUE(rates) << rates.error().what;
    EXPECT_EQ(host_gpus().kernels - before, 7U * 2 * (1 + 3));
    std::map<std::string, double> bytes;
    for (const KernelRate& rate : *rates) {
      EXPECT_GT(rate.seconds, 0) << rate.name;
      bytes[rate.name] = rate.bytes;
    }
    const double all = 640.0 * 16 * static_cast<double>(bytes_of(type));
    EXPECT_EQ(bytes, (std::map<std::string, double>{{"moments", all},
                                                    {"forward", 2 * all},
                                                    {"grad sums", 3 * all},
                                                    {"joined sums", 2 * 10 * 16 * 4},
                                                    {"backward", 4 * all},
                                                    {"addition", 3 * all},
                                                    {"relu backward", 3 * all}}));
  }
  EXPECT_TRUE(host_gpus().pieces.empty()) << "what was allocated is given back";
  const std::size_t there = std::exchange(host_gpus().bytes_each, std::size_t{64} << 10);
  const auto none = measure_kernels(DType::f32, 1 << 18, 16, {.runs = 1, .rounds = 1});
  host_gpus().bytes_each = there;
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().what, HasSubstr("of the GPU to measure it with"));
}

}  // namespace
}  // namespace dllaunch::gpu

// Calls to rocBLAS, checked by a fake that multiplies column-major matrices.
#include "trainer/backends/hip/rocblas_matmul.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/host_gpu/fake_libraries.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"

namespace dllaunch::rocblas {
namespace {

using gpu::MatmulShape;
using testing::HasSubstr;
using testing::SizeIs;

/// Three arrays and a workspace on the device, filled with small integers, so that sums are exact
/// in every type.
class OnDevice {
 public:
  explicit OnDevice(const MatmulShape& shape, std::size_t workspace) : shape_(shape) {
    const auto count = [](std::int64_t rows, std::int64_t columns) {
      return static_cast<std::size_t>(rows * columns);
    };
    counts_ = {count(shape.rows, shape.depth), count(shape.depth, shape.columns),
               count(shape.rows, shape.columns)};
    for (std::size_t& of : counts_) of *= static_cast<std::size_t>(shape.products);
    for (std::size_t i = 0; i < 3; ++i) pieces_.push_back(memory_.add(counts_[i] * sizeof(float)));
    pieces_.push_back(memory_.add(workspace));
    memory_.place();
    EXPECT_EQ(memory_.allocate(), gpu_success);
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t at = 0; at < counts_[i]; ++at) {
        fake_write(array(i), shape.in, static_cast<std::ptrdiff_t>(at), value(i, at));
      }
    }
  }
  static float value(std::size_t array, std::size_t at) {
    return static_cast<float>(at * (array + 2) % 5) - 2;
  }
  void* array(std::size_t i) const { return memory_.at<void*>(pieces_[i]); }
  void* workspace() const { return memory_.at<void*>(pieces_[3]); }
  void fill(float value) {
    for (std::size_t at = 0; at < counts_[2]; ++at) {
      fake_write(array(2), shape_.out, static_cast<std::ptrdiff_t>(at), value);
    }
  }
  std::vector<float> result() const {
    std::vector<float> all;
    for (std::size_t at = 0; at < counts_[2]; ++at) {
      all.push_back(fake_read(array(2), shape_.out, static_cast<std::ptrdiff_t>(at)));
    }
    return all;
  }
  /// Returns the expected row-major result.
  std::vector<float> wanted(float begin) const {
    std::vector<float> all;
    const auto& s = shape_;
    for (std::int64_t at = 0; at < s.products * s.rows; ++at) {
      const std::int64_t i = at % s.rows;
      const std::int64_t first_a = at / s.rows * s.rows * s.depth;
      const std::int64_t first_b = at / s.rows * s.depth * s.columns;
      for (std::int64_t j = 0; j < s.columns; ++j) {
        float sum = begin;
        for (std::int64_t k = 0; k < s.depth; ++k) {
          const auto a = first_a + (s.transpose_a ? k * s.rows + i : i * s.depth + k);
          const auto b = first_b + (s.transpose_b ? j * s.depth + k : k * s.columns + j);
          sum += value(0, static_cast<std::size_t>(a)) * value(1, static_cast<std::size_t>(b));
        }
        all.push_back(sum);
      }
    }
    return all;
  }

 private:
  MatmulShape shape_;
  std::vector<std::size_t> counts_;
  gpu::DeviceMemory memory_;
  std::vector<int> pieces_;
};

class RocblasMatmul : public testing::Test {
 protected:
  void SetUp() override {
    fake_rocblas() = {};
    const auto opened = handle->open();
    ASSERT_TRUE(opened) << opened.error().what;
  }
  std::unique_ptr<gpu::Matmul> matmul(const MatmulShape& shape) {
    auto made = make_matmul(handle, shape);
    EXPECT_TRUE(made) << (made ? "" : made.error().what);
    return *std::move(made);
  }
  std::shared_ptr<Handle> handle = std::make_shared<Handle>();
};

TEST_F(RocblasMatmul, GivesTheRowsThatWereAskedFor) {
  for (const DType in : {DType::f32, DType::bf16, DType::f16}) {
    for (const DType out : {in, DType::f32}) {
      for (const int ways : {0, 1, 2, 3, 4, 5, 6, 7}) {
        const std::int64_t products = ways < 4 ? 1 : 3;
        const MatmulShape shape{3,  4,   5,     (ways & 1) != 0, (ways & 2) != 0,
                                in, out, false, products};
        SCOPED_TRACE(std::string(to_string(in)) + " " + std::to_string(ways));
        const auto made = matmul(shape);
        OnDevice on(shape, made->workspace());
        made->run(nullptr, on.array(0), on.array(1), on.array(2), false, on.workspace());
        EXPECT_EQ(on.result(), on.wanted(0)) << "over what was NaN";
        on.fill(3);
        made->run(nullptr, on.array(0), on.array(1), on.array(2), true, on.workspace());
        EXPECT_EQ(on.result(), on.wanted(3));
      }
    }
  }
  EXPECT_EQ(fake_rocblas().without_workspace, 0U) << "it would allocate memory of its own";
}

TEST_F(RocblasMatmul, TellsAWorkspaceOnce) {
  const MatmulShape shape{2, 2, 2};
  const auto made = matmul(shape);
  const OnDevice on(shape, made->workspace());
  for (int i = 0; i < 3; ++i) {
    made->run(nullptr, on.array(0), on.array(1), on.array(2), false, on.workspace());
  }
  EXPECT_THAT(fake_rocblas().workspaces, SizeIs(1));
  EXPECT_EQ(fake_rocblas().products, 3U);
}

TEST_F(RocblasMatmul, RefusesWhatItCannotDo) {
  const auto rounded = make_matmul(handle, {.rows = 1, .columns = 1, .depth = 1, .tf32 = true});
  ASSERT_FALSE(rounded);
  EXPECT_EQ(rounded.error().kind, ErrorKind::bad_request);
  const auto large = make_matmul(handle, {.rows = std::int64_t{1} << 31, .columns = 1, .depth = 1});
  ASSERT_FALSE(large);
  EXPECT_THAT(large.error().what, HasSubstr("2147483648 x 1 x 1"));
}

TEST(RocblasHandle, SaysThatItCannotStart) {
  fake_rocblas() = {.starts = false};
  Handle handle;
  const auto opened = handle.open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().what, "rocBLAS: start: the fake does not take that");
  fake_rocblas() = {};
}

TEST(RocblasVersion, IsReadFromItsText) {
  for (const auto& [text, number] :
       {std::pair("4.2.1.5f2e1a", 40201), std::pair("2.47.0.", 24700), std::pair("4.2", 0),
        std::pair("", 0), std::pair("none", 0), std::pair("5.1.0", 50100)}) {
    fake_rocblas() = {.version = text};
    EXPECT_EQ(loaded_version(), number) << text;
  }
  fake_rocblas() = {};
}

}  // namespace
}  // namespace dllaunch::rocblas

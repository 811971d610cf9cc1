// Calls to MIOpen, checked by a fake that computes what the descriptors say and also offers
// solutions that must not be used. backend_test.cpp compares the results with `reference`.
#include "trainer/backends/hip/miopen_convolution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

#include "tests/support/host_gpu/fake_libraries.hpp"
#include "tests/support/host_gpu/host_math.hpp"
#include "tests/trainer/backends/gpu/convolution_arrays.hpp"
#include "trainer/backends/gpu/layers/convolution_extents.hpp"

namespace dllaunch::miopen {
namespace {

using gpu::ConvolutionShape;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// All extents, strides and paddings differ, so that swapping two is detected.
const ConvolutionShape image{.type = DType::f32,
                             .x = {2, 1, 9, 7, 3},
                             .y = {2, 1, 5, 8, 4},
                             .window = {{1, 3, 2}, {1, 2, 1}, {0, 1, 1}}};
const ConvolutionShape volume{.type = DType::f32,
                              .x = {2, 7, 6, 5, 3},
                              .y = {2, 4, 7, 4, 2},
                              .window = {{3, 2, 4}, {2, 1, 1}, {1, 1, 1}}};

/// Numbers small enough for exact sums in all types.
class Arrays : public gpu::ConvolutionArrays {
 public:
  Arrays(const ConvolutionShape& shape, std::size_t workspace)
      : ConvolutionArrays(shape, workspace),
        type_(shape.type),
        volumes_{shape.x, weights_of(shape), shape.y} {
    for (std::size_t i = 0; i < volumes_.size(); ++i) {
      for (std::int64_t at = 0; at < volumes_[i].elements(); ++at) {
        fake_write((*this)[i], type_, at,
                   static_cast<float>(at * static_cast<std::int64_t>(i + 3) % 5) - 2);
      }
    }
  }
  std::vector<float> values(std::size_t i) const {
    std::vector<float> all;
    for (std::int64_t at = 0; at < volumes_[i].elements(); ++at) {
      all.push_back(fake_read((*this)[i], type_, at));
    }
    return all;
  }

 private:
  DType type_;
  std::array<gpu::Volume, 3> volumes_;
};

/// Returns the results of the three passes of one convolution.
std::vector<std::vector<float>> results(gpu::Convolution& made, const ConvolutionShape& shape) {
  std::vector<std::vector<float>> all;
  const std::size_t workspace = made.workspace();
  const Arrays forward(shape, workspace);
  made.forward(nullptr, forward[0], forward[1], forward[2], forward[3]);
  all.push_back(forward.values(2));
  const Arrays data(shape, workspace);
  made.backward_data(nullptr, data[2], data[1], data[0], data[3]);
  all.push_back(data.values(0));
  const Arrays weights(shape, workspace);
  made.backward_weights(nullptr, weights[0], weights[2], weights[1], weights[3]);
  all.push_back(weights.values(1));
  return all;
}

class Library final : public gpu::EngineLibrary {
 public:
  Library(std::shared_ptr<Handle> handle, std::shared_ptr<gpu::EngineBook> book)
      : EngineLibrary("MIOpen", std::move(book)), handle_(std::move(handle)) {}
  Result<std::unique_ptr<gpu::Matmul>> matmul(const gpu::MatmulShape&) override {
    return Error{ErrorKind::unavailable, "not of MIOpen", ""};
  }

 private:
  Result<gpu::PassEngines> engines(const ConvolutionShape& shape, gpu::Pass pass) override {
    return engines_of(handle_, shape, pass);
  }
  std::shared_ptr<Handle> handle_;
};

class MiopenConvolution : public testing::Test {
 protected:
  void SetUp() override {
    fake_miopen() = {};
    const auto opened = handle->open();
    ASSERT_TRUE(opened) << opened.error().what;
  }
  void TearDown() override { fake_miopen() = {}; }

  Result<std::unique_ptr<gpu::Convolution>> make_convolution(const ConvolutionShape& shape) {
    return Library(handle, book).convolution(shape);
  }
  std::unique_ptr<gpu::Convolution> convolution(const ConvolutionShape& shape) {
    auto made = make_convolution(shape);
    EXPECT_TRUE(made) << (made ? "" : made.error().what);
    return *std::move(made);
  }
  std::shared_ptr<Handle> handle = std::make_shared<Handle>();
  std::shared_ptr<gpu::EngineBook> book = std::make_shared<gpu::EngineBook>("", "gfx90a");
};

TEST_F(MiopenConvolution, ComputesWhatTheShapeSays) {
  const auto host = gpu::make_host_math();
  for (const ConvolutionShape& one : {image, volume}) {
    for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
      for (const std::uint64_t solution : {fake_direct, fake_implicit}) {
        ConvolutionShape shape = one;
        shape.type = type;
        SCOPED_TRACE(text_of(shape, gpu::Pass::forward));
        fake_miopen().solutions = {solution};
        const auto made = convolution(shape);
        const auto wanted = host->convolution(shape);
        EXPECT_EQ(made->workspace(), solution == fake_implicit ? 192U : 0U);
        EXPECT_EQ(results(*made, shape), results(**wanted, shape));
      }
    }
  }
}

TEST_F(MiopenConvolution, TakesNoSolutionThatRoundsOrShuffles) {
  for (const auto& version : {std::vector<std::size_t>{3, 2, 0}, {3, 5, 2}, {4, 0, 0}}) {
    for (const DType type : {DType::f32, DType::f16}) {
      fake_miopen().version = version;
      ConvolutionShape shape = image;
      shape.type = type;
      const auto made = convolution(shape);
      for (const auto& values : results(*made, shape)) {
        EXPECT_THAT(values, Each(testing::Truly([](float x) { return std::isfinite(x); })));
      }
    }
  }
  const std::set<std::uint64_t> taken(fake_miopen().runs.begin(), fake_miopen().runs.end());
  EXPECT_EQ(taken, (std::set<std::uint64_t>{fake_implicit, fake_direct})) << "both are tried";
}

TEST_F(MiopenConvolution, TakesTheFastestAndRemembersIt) {
  for (const auto& [slow, fast] :
       {std::pair(fake_implicit, fake_direct), std::pair(fake_direct, fake_implicit)}) {
    book = std::make_shared<gpu::EngineBook>("", "gfx90a");
    ConvolutionShape shape = image;
    shape.backward_data = false;
    shape.backward_weights = false;
    fake_miopen() = {.takes = {{slow, std::chrono::milliseconds(30)}}};
    const auto run_once = [&] {
      const auto made = convolution(shape);
      const Arrays arrays(shape, 192);
      fake_miopen().runs.clear();
      made->forward(nullptr, arrays[0], arrays[1], arrays[2], arrays[3]);
      EXPECT_EQ(fake_miopen().runs, std::vector<std::uint64_t>{fast});
    };
    run_once();
    // Now the other one is faster, but it is not measured again.
    fake_miopen().takes = {{fast, std::chrono::milliseconds(30)}};
    run_once();
    EXPECT_EQ(book->find(shape, gpu::Pass::forward),
              gpu::EngineId{static_cast<std::int64_t>(fast)});
  }
}

TEST_F(MiopenConvolution, SolutionsThatFailAreOut) {
  fake_miopen().fails = {fake_direct};
  const auto made = convolution(image);
  results(*made, image);
  fake_miopen() = {};
  fake_miopen().solutions = {fake_uncompiled, fake_hungry, fake_direct};
  fake_miopen().fails = {fake_direct};
  book = std::make_shared<gpu::EngineBook>("", "gfx90a");
  const auto none = make_convolution(image);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().what, HasSubstr("all engines of MIOpen fail for convolution"));
}

TEST_F(MiopenConvolution, OneThatFailsInItsFirstStepIsReplaced) {
  fake_miopen().solutions = {fake_direct, fake_implicit};
  fake_miopen().takes = {{fake_direct, std::chrono::milliseconds(5)}};
  const auto made = convolution(image);
  ASSERT_EQ(made->workspace(), 192U);
  fake_miopen().fails = {fake_implicit};
  for (const auto& values : results(*made, image)) {
    EXPECT_THAT(values, Each(testing::Truly([](float x) { return std::isfinite(x); })));
  }
  EXPECT_EQ(book->find(image, gpu::Pass::forward), gpu::EngineId{fake_direct});
}

TEST_F(MiopenConvolution, WinogradAndFftAreTakenBeforeNothing) {
  fake_miopen().solutions = {fake_fft, fake_winograd};
  convolution(image);
  EXPECT_EQ(book->find(image, gpu::Pass::forward), gpu::EngineId{fake_winograd});
  std::string told;
  book->warn_through([&](std::string_view line) { told = line; });
  book->tell_relaxations();
  EXPECT_THAT(told, HasSubstr("Winograd (larger rounding errors): forward,f32,"));
}

TEST_F(MiopenConvolution, SumsInAnyOrderAreTakenLast) {
  for (const bool again : {false, true}) {
    SCOPED_TRACE(again ? "from the book" : "by choice");
    fake_miopen().solutions = {fake_shuffled};
    const auto made = convolution(image);
    fake_miopen().runs.clear();
    results(*made, image);
    EXPECT_EQ(fake_miopen().runs, std::vector<std::uint64_t>(3, fake_shuffled));
    std::string told;
    book->warn_through([&](std::string_view line) { told = line; });
    book->tell_relaxations();
    EXPECT_THAT(told, HasSubstr("forward,f32,"));
    EXPECT_THAT(told, HasSubstr(to_string(gpu::Relaxation::unordered)));
  }
  book = std::make_shared<gpu::EngineBook>("", "gfx90a");
  fake_miopen().solutions = {fake_shuffled, fake_winograd};
  convolution(image);
  EXPECT_EQ(book->find(image, gpu::Pass::forward), gpu::EngineId{fake_winograd});
}

TEST_F(MiopenConvolution, WhatWasRememberedAndIsGoneIsTriedAnew) {
  fake_miopen().solutions = {fake_direct};
  convolution(image);
  fake_miopen().solutions = {fake_implicit};
  const auto made = convolution(image);
  EXPECT_EQ(made->workspace(), 192U);
}

TEST_F(MiopenConvolution, PassesThatNobodyAsksForAreNotPrepared) {
  ConvolutionShape shape = image;
  shape.backward_data = false;
  shape.backward_weights = false;
  fake_miopen().takes = {{fake_direct, std::chrono::milliseconds(5)}};
  convolution(shape);
  const std::size_t forward_alone = fake_miopen().runs.size();
  fake_miopen().runs.clear();
  convolution(volume);
  EXPECT_GT(fake_miopen().runs.size(), 2 * forward_alone);
}

TEST_F(MiopenConvolution, KeepsTheHandle) {
  const auto made = convolution(image);
  handle.reset();
  results(*made, image);
}

TEST_F(MiopenConvolution, TellsAStreamOnce) {
  const auto made = convolution(image);
  EXPECT_THAT(fake_miopen().streams, ElementsAre(nullptr)) << "it may have begun on another";
  GpuStream stream = nullptr;
  ASSERT_EQ(gpu_create_stream(stream), gpu_success);
  const Arrays arrays(image, 192);
  for (int i = 0; i < 2; ++i) made->forward(stream, arrays[0], arrays[1], arrays[2], arrays[3]);
  EXPECT_THAT(fake_miopen().streams, ElementsAre(nullptr, stream));
  ASSERT_EQ(gpu_destroy_stream(stream), gpu_success);
}

TEST_F(MiopenConvolution, RefusesWhatItCannotDo) {
  fake_miopen().solutions = {};
  const auto none = make_convolution(image);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(none.error().what,
            "MIOpen has no engine for convolution forward,f32,x2x3x1x9x7,y2x4x1x5x8,k1x3x2,"
            "s1x2x1,p0x1x1");
  ConvolutionShape rounded = image;
  rounded.tf32 = true;
  const auto tf32 = make_convolution(rounded);
  ASSERT_FALSE(tf32);
  EXPECT_EQ(tf32.error().kind, ErrorKind::bad_request);
  ConvolutionShape large = image;
  large.x.rows = large.y.rows = std::int64_t{1} << 31;
  const auto beyond = make_convolution(large);
  ASSERT_FALSE(beyond);
  EXPECT_THAT(beyond.error().what, HasSubstr("exceeds its 32-bit sizes"));
}

TEST(MiopenHandle, SaysThatItCannotStart) {
  fake_miopen() = {.starts = false};
  Handle handle;
  const auto opened = handle.open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().what, "MIOpen cannot start: the fake does not take that");
  fake_miopen() = {};
}

TEST(MiopenAlgorithms, OnlyDirectSumsAreExact) {
  using gpu::Relaxation;
  EXPECT_EQ(relaxation_of(miopenConvolutionAlgoGEMM), Relaxation::none);
  EXPECT_EQ(relaxation_of(miopenConvolutionAlgoDirect), Relaxation::none);
  EXPECT_EQ(relaxation_of(miopenConvolutionAlgoImplicitGEMM), Relaxation::none);
  EXPECT_EQ(relaxation_of(miopenConvolutionAlgoFFT), Relaxation::fft);
  EXPECT_EQ(relaxation_of(miopenConvolutionAlgoWinograd), Relaxation::winograd);
}

}  // namespace
}  // namespace dllaunch::miopen

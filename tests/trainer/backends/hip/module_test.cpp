// The module's entry point on the host: its choice of GPU, and its error messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/host_gpu/fake_libraries.hpp"
#include "tests/trainer/backends/compiled.hpp"
#include "trainer/backends/gpu/opening/gpu_opening.hpp"
#include "trainer/models/models.hpp"

extern "C" void dllaunch_open_hip(dllaunch::gpu::GpuOpening& opening);

namespace dllaunch {
namespace {

using testing::HasSubstr;

class HipModule : public testing::Test {
 protected:
  void TearDown() override {
    fake_miopen() = {};
    fake_rocblas() = {};
    host_gpus().pci = {"0000:01:00.0"};
    host_gpus().driver = gpu_built_with;
    ASSERT_EQ(gpu_set_device(0), gpu_success);
  }
  static Result<std::unique_ptr<Backend>> open(const std::string& gpus = "") {
    gpu::GpuOpening opening{
        .rank = {}, .lookup = [gpus](const std::string& name) -> std::optional<std::string> {
          if (name == "DLLAUNCH_GPUS" && !gpus.empty()) return gpus;
          return std::nullopt;
        }};
    dllaunch_open_hip(opening);
    return *std::move(opening.opened);
  }
  static std::string complaint() {
    const auto opened = open();
    if (opened) return "nothing";
    EXPECT_EQ(opened.error().kind, ErrorKind::unavailable);
    return opened.error().what;
  }
};

TEST_F(HipModule, DrivesTheGpuThatThePlanDealt) {
  host_gpus().pci = {"0000:01:00.0", "0000:C1:00.0", "0000:41:00.0"};
  const auto opened = open("0000:41:00.0");
  ASSERT_TRUE(opened) << opened.error().what;
  EXPECT_EQ((*opened)->gpu(), "0000:41:00.0");
  EXPECT_EQ(host_gpu_of_thread(), 2);
}

TEST_F(HipModule, NamesVersionsThatDoNotFit) {
  fake_miopen().version = {2, 20, 0};
  EXPECT_EQ(complaint(), "found MIOpen 2.20.0, this build needs 3.2.0 or a later 3");
  fake_miopen() = {};
  fake_rocblas().version = "4.1.9.abc";
  EXPECT_EQ(complaint(), "found rocBLAS 4.1.9, this build needs 4.2.1 or a later 4");
  fake_rocblas().version = "?";
  EXPECT_EQ(complaint(), "found no rocBLAS, this build needs 4.2.1 or a later 4");
  fake_rocblas() = {};
  host_gpus().driver = 12000;
  EXPECT_THAT(complaint(), HasSubstr("no GPU: host: found a driver for host 12.0"));
}

TEST_F(HipModule, SaysWhichLibraryCannotStart) {
  fake_miopen().starts = false;
  EXPECT_THAT(complaint(), HasSubstr("MIOpen cannot start: "));
  fake_miopen() = {};
  fake_rocblas().starts = false;
  EXPECT_THAT(complaint(), HasSubstr("rocBLAS: start: "));
}

TEST_F(HipModule, HasNoTf32) {
  const auto opened = open();
  ASSERT_TRUE(opened);
  const auto compiled =
      (*opened)->compile(graph_of("lenet"), {.batch = 2, .precision = Precision::tf32});
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().kind, ErrorKind::bad_request);
  EXPECT_EQ(compiled.error().what, "backend hip has no precision tf32");
  EXPECT_EQ(compiled.error().hint, "it has fp32, bf16, fp16");
}

}  // namespace
}  // namespace dllaunch

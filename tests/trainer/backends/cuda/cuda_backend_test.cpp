// The module as dltrain loads it. Without a GPU: the error messages. With one: backend_test.cpp
// runs on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "runtime/gpu/sensors/gpu_sensors.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/backends/gpu/opening/gpu_opening.hpp"
#include "trainer/backends/table/backends.hpp"

namespace dllaunch {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::MatchesRegex;

const BackendEntry& cuda() {
  return backends().front();
}

/// Returns the folder of dltrain and its module: that of this program, wherever it was copied.
std::string folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

TEST(CudaBackend, ComesFirstAndNamesItsLibraries) {
  EXPECT_EQ(cuda().name, "cuda");
  EXPECT_EQ(cuda().device, "cuda");
  EXPECT_THAT(cuda().version(), HasSubstr("CUDA "));
  EXPECT_THAT(cuda().version(), HasSubstr("cuDNN 9."));
  EXPECT_THAT(std::string(cuda().caution), HasSubstr("tested on one GPU only, an NVIDIA H100"));
}

TEST(CudaBackend, SaysWhatIsMissingInOneLine) {
  const auto opened = cuda().open();
  if (opened) GTEST_SKIP() << "nothing is missing";
  EXPECT_EQ(opened.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(opened.error().what, HasSubstr("no GPU: "));
  EXPECT_EQ(opened.error().what.find('\n'), std::string::npos);
}

/// Training must read the sensors of the GPU that computes.
TEST(CudaBackend, NamesTheGpuThatComputes) {
  const auto opened = cuda().open();
  if (!opened) GTEST_SKIP() << opened.error().what;
  const std::string pci = (*opened)->gpu();
  EXPECT_THAT(pci, MatchesRegex("[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]"));
  const auto sensors = GpuSensors::open(pci);
  ASSERT_TRUE(sensors) << sensors.error().what;
  EXPECT_GT((*sensors)->read().memory_used_bytes.value_or(0), 0U);
}

/// Whatever opens a backend exports all symbols that the module needs: the loader checks before
/// main() runs.
TEST(CudaBackend, ProgramsHaveWhatTheModuleNeeds) {
  for (const std::string program :
       {"dltrain --version", "bench_training help", "compute_test --gtest_list_tests",
        "trainer_test --gtest_list_tests", "training_test --gtest_list_tests",
        "losses_test --gtest_list_tests", "fine_tuning_test --gtest_list_tests"}) {
    // LD_PRELOAD separates names by spaces, so change to the folder: its path may contain one.
    const std::string run = "cd '" + folder() +
                            "' && LD_BIND_NOW=1 LD_PRELOAD=./libdltrain_cuda.so "
                            "./" +
                            program + " 2>&1 < /dev/null | grep 'undefined symbol'";
    EXPECT_NE(std::system(run.c_str()), 0) << program;
  }
}

/// Skips the driver check; uses the toolkit's own libraries.
TEST(CudaBackend, TheModuleItselfSaysThatThereIsNoGpu) {
  const std::string file = folder() + "/libdltrain_cuda.so";
  void* module = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(module, nullptr) << ::dlerror();
  const auto entry =
      reinterpret_cast<void (*)(gpu::GpuOpening&)>(::dlsym(module, "dllaunch_open_cuda"));
  ASSERT_NE(entry, nullptr);
  gpu::GpuOpening opening{.rank = {}, .lookup = [](const std::string&) { return std::nullopt; }};
  entry(opening);
  ASSERT_TRUE(opening.opened.has_value());
  if (*opening.opened) GTEST_SKIP() << "there is one";
  EXPECT_THAT(opening.opened->error().what, HasSubstr("no GPU: CUDA: "));
}

}  // namespace
}  // namespace dllaunch

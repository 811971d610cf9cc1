#include "launcher/doctor/pinned_copies.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/rank/binding.hpp"
#include "tests/support/emulator.hpp"

namespace dllaunch {
namespace {

TEST(PinnedCopies, WithoutADriverSayWhatIsMissing) {
  if (dlopen("libcuda.so.1", RTLD_LAZY) != nullptr ||
      dlopen("libamdhip64.so", RTLD_LAZY) != nullptr)
    GTEST_SKIP() << "this machine has a GPU driver";
  const auto copies = measure_pinned_copies({{0, *current_binding()}});
  ASSERT_FALSE(copies);
  EXPECT_EQ(copies.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(copies.error().what, "no libcuda.so.1, no libamdhip64.so");
}

/// What measure_pinned_copies() says of the stand-in that behaves so.
Result<std::vector<PinnedCopy>> from_stand_in(const char* behaviour) {
  setenv("DLLAUNCH_FAKE_CUDA", behaviour, 1);
  auto copies = measure_pinned_copies({{0, *current_binding()}},
                                      {.cuda = DLLAUNCH_FAKE_CUDA_LIBRARY, .hip = {}});
  unsetenv("DLLAUNCH_FAKE_CUDA");
  return copies;
}

TEST(PinnedCopies, OfAStandInGoToEachGpuInTheRightOrderOfCalls) {
  if (under_an_emulator()) GTEST_SKIP() << "qemu-user binds no memory to NUMA nodes";
  const auto copies = from_stand_in("");
  ASSERT_TRUE(copies) << copies.error().what;
  ASSERT_EQ(copies->size(), 2u);
  EXPECT_EQ((*copies)[0].pci, "0000:c0:00.0");
  EXPECT_EQ((*copies)[1].pci, "0000:c1:00.0");
  EXPECT_GT((*copies)[1].gb_per_s, 0);
}

TEST(PinnedCopies, OfADriverThatFailsSayWhy) {
  EXPECT_EQ(from_stand_in("no-driver").error().what, "cuInit failed with 999, no libamdhip64.so");
  EXPECT_EQ(from_stand_in("no-gpu").error().what, "the driver finds no GPU");
  EXPECT_NE(from_stand_in("crash").error().what.find("signal 6"), std::string::npos);
  const auto refused = from_stand_in("no-pinning");
  ASSERT_TRUE(refused) << refused.error().what;
  EXPECT_TRUE(refused->empty());
}

TEST(PinnedCopies, ReachEveryGpu) {
  const auto copies = measure_pinned_copies({{0, *current_binding()}});
  if (!copies) GTEST_SKIP() << copies.error().what;
  ASSERT_FALSE(copies->empty());
  for (const auto& copy : *copies) {
    EXPECT_GT(copy.gb_per_s, 0.1) << copy.pci;
    EXPECT_LT(copy.gb_per_s, 2000) << copy.pci;
    EXPECT_EQ(copy.pci.size(), 12u) << copy.pci;
  }
}

}  // namespace
}  // namespace dllaunch

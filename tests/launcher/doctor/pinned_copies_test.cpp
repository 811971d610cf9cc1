#include "launcher/doctor/pinned_copies.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "runtime/binding.hpp"

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

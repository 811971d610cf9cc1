#include "support/shared_library.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/temporary_folder.hpp"
#include "tests/topology/discovery/fake_libraries.hpp"

namespace dllaunch {
namespace {

TEST(SharedLibrary, FindsWhatIsThere) {
  const SharedLibrary library(fake_nvml);
  ASSERT_TRUE(library.opened());
  EXPECT_EQ(library.why(), "");
  int (*count)(unsigned*) = nullptr;
  ASSERT_TRUE(library.find("nvmlDeviceGetCount_v2", count));
  unsigned gpus = 0;
  EXPECT_EQ(count(&gpus), 0);
  EXPECT_EQ(gpus, 4u);
  EXPECT_FALSE(library.find("nvmlNoSuchFunction", count));
  EXPECT_EQ(count, nullptr);
}

TEST(SharedLibrary, TellsAMissingLibraryFromABrokenOne) {
  const SharedLibrary missing("libno-such-library.so");
  EXPECT_FALSE(missing.opened());
  EXPECT_EQ(missing.why(), "");
  const TemporaryFolder folder;
  const auto path = folder.path() + "/text.so";
  std::ofstream(path) << "no library\n";
  const SharedLibrary broken(path);
  EXPECT_FALSE(broken.opened());
  EXPECT_NE(broken.why().find("text.so"), std::string::npos) << broken.why();
}

}  // namespace
}  // namespace dllaunch

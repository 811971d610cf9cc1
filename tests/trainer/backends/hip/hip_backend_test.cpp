// dltrain's part of the backend, which does not need ROCm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "runtime/gpu/drivers.hpp"
#include "trainer/backends/backend.hpp"

namespace dllaunch {

extern const BackendEntry hip_backend;

namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(HipBackend, SaysWhatItIs) {
  EXPECT_EQ(hip_backend.name, "hip");
  EXPECT_EQ(hip_backend.device, "hip");
  EXPECT_THAT(hip_backend.version(), StartsWith("HIP "));
  EXPECT_THAT(std::string(hip_backend.caution), HasSubstr("has never run on a GPU"));
  EXPECT_EQ(hip_backend.expected(), has_amd_driver());
}

TEST(HipBackend, SaysWhatIsMissingInOneLine) {
  const auto opened = hip_backend.open();
  if (opened) GTEST_SKIP() << "nothing is missing";
  EXPECT_EQ(opened.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(opened.error().what.find('\n'), std::string::npos);
  if (has_amd_driver()) GTEST_SKIP() << "there is a driver: " << opened.error().what;
  EXPECT_EQ(opened.error().what, "no GPU: no AMD driver: no /dev/kfd");
  EXPECT_EQ(opened.error().hint, "use device cpu");
  EXPECT_EQ(std::getenv("MIOPEN_USER_DB_PATH"), nullptr) << "nothing is changed without a driver";
}

}  // namespace
}  // namespace dllaunch

#include "launcher/base/unix_seconds.hpp"

#include <gtest/gtest.h>

#include <ctime>

namespace dllaunch {
namespace {

TEST(UnixSeconds, AreThoseOfTheSystemsClock) {
  const auto before = static_cast<double>(std::time(nullptr));
  const double now = unix_seconds();
  EXPECT_GE(now, before);
  EXPECT_LE(now, before + 60);
}

}  // namespace
}  // namespace dllaunch

#include "launcher/os/own_executable.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace dllaunch {
namespace {

TEST(OwnExecutable, IsThisTest) {
  const auto program = own_executable();
  ASSERT_TRUE(program) << program.error().what;
  EXPECT_EQ(std::filesystem::path(*program).filename(), "execute_test");
  EXPECT_TRUE(std::filesystem::path(*program).is_absolute());
}

}  // namespace
}  // namespace dllaunch

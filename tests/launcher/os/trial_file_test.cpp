#include "launcher/os/trial_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

TEST(TrialFile, IsWrittenAndLeavesNothing) {
  const TemporaryFolder folder;
  EXPECT_EQ(write_trial_file(folder.path()).what, "");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(TrialFile, SaysWhichStepFails) {
  EXPECT_THAT(write_trial_file("/nowhere/at/all").what, HasSubstr("create: No such file"));
  EXPECT_THAT(write_trial_file("/proc").what, HasSubstr("create: "));
}

/// As on a disk that fills up on the way.
TEST(TrialFile, ThatDoesNotFitIsTold) {
  const TemporaryFolder folder;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const auto trouble = write_trial_file(folder.path());
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(trouble.what, "write: File too large");
  EXPECT_EQ(trouble.error, EFBIG);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace dllaunch

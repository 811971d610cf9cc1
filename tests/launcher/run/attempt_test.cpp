#include "launcher/run/attempt.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(Attempt, CausesAreWordsAndBack) {
  for (int i = 0; i <= static_cast<int>(Cause::storage); ++i) {
    const auto cause = static_cast<Cause>(i);
    EXPECT_EQ(cause_of_word(to_string(cause)), cause);
  }
  EXPECT_FALSE(cause_of_word("unknown"));
}

}  // namespace
}  // namespace dllaunch

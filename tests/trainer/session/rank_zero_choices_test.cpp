#include "trainer/session/rank_zero_choices.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/communicators/on_ranks.hpp"

namespace dllaunch {
namespace {

TEST(RankZeroChoices, EveryRankGetsRankZerosText) {
  const auto communicator = all_ranks();
  for (const std::size_t size : {0U, 1U, 100'000U}) {
    RankZeroChoices choices(*communicator);
    EXPECT_EQ(choices.decides(), communicator->rank() == 0);
    const std::string mine(size + static_cast<std::size_t>(communicator->rank()),
                           static_cast<char>('a' + communicator->rank()));
    EXPECT_EQ(choices.share(mine), std::string(size, 'a'));
    EXPECT_EQ(choices.share(mine), "") << "not collective again";
    choices.attend();
  }
}

/// Would hang if attend() were no part of the exchange.
TEST(RankZeroChoices, ARankWithoutChoicesAttends) {
  const auto communicator = all_ranks();
  for (int absent = 0; absent < communicator->size(); ++absent) {
    RankZeroChoices choices(*communicator);
    if (communicator->rank() != absent) {
      EXPECT_EQ(choices.share("mine"), absent == 0 ? "" : "mine");
    }
    choices.attend();
  }
}

}  // namespace
}  // namespace dllaunch

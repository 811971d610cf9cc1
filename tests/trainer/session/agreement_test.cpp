#include "trainer/session/agreement.hpp"

#include <gtest/gtest.h>

#include "runtime/communicators/opening/communicators.hpp"
#include "runtime/rank/rank_env.hpp"

namespace dllaunch {
namespace {

/// Runs on one rank and, by CTest, on two and three.
std::unique_ptr<Communicator> all_ranks() {
  static const auto env = read_rank_env(process_environment());
  return *open_communicator("auto", *env);
}

TEST(Agreement, NothingWhenNoRankFails) {
  auto communicator = all_ranks();
  EXPECT_FALSE(agree(*communicator, std::nullopt));
}

TEST(Agreement, TheLowestFailingRankHasTheMessageAndAllHaveItsKind) {
  auto communicator = all_ranks();
  for (int lowest = 0; lowest < communicator->size(); ++lowest) {
    std::optional<Error> mine;
    if (communicator->rank() >= lowest) {
      const auto kind =
          communicator->rank() == lowest ? ErrorKind::unavailable : ErrorKind::bad_request;
      mine = Error{kind, "rank " + std::to_string(communicator->rank()), "hint"};
    }
    auto agreed = agree(*communicator, mine);
    ASSERT_TRUE(agreed);
    EXPECT_EQ(agreed->kind, ErrorKind::unavailable);
    const bool speaks = communicator->rank() == lowest;
    EXPECT_EQ(agreed->what, speaks ? "rank " + std::to_string(lowest) : "");
  }
}

}  // namespace
}  // namespace dllaunch

#include "launcher/os/storage_patience.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace dllaunch {
namespace {

TEST(StoragePatience, TroubleIsToldByItsWords) {
  EXPECT_TRUE(tells_of_storage("OSError: [Errno 28] No space left on device: 'a.pt'"));
  EXPECT_TRUE(tells_of_storage("dltrain: error: cannot write a: Disk quota exceeded"));
  EXPECT_TRUE(tells_of_storage("cannot read /r/plan.json: Stale file handle"));
  EXPECT_FALSE(tells_of_no_room("cannot read /r/plan.json: Stale file handle"));
  EXPECT_FALSE(tells_of_storage("ValueError: no room"));
}

TEST(StoragePatience, EndsWithTheFirstSuccessOrASignal) {
  int tries = 0;
  int waits = 0;
  const auto until_the_third = [&] { return ++tries == 3; };
  const auto no_signal = [&](auto) { return ++waits > 10; };
  EXPECT_TRUE(patiently(until_the_third, no_signal));
  EXPECT_EQ(waits, 2);
  const auto signal = [](auto) { return true; };
  EXPECT_FALSE(patiently([&] { return ++tries == 100; }, signal));
  EXPECT_EQ(tries, 4);
}

}  // namespace
}  // namespace dllaunch

#include "topology/network/natural_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace dllaunch {
namespace {

TEST(NaturalOrder, CountsAsPeopleDo) {
  std::vector<std::string> names = {"n10",     "n2",       "n02", "n1",     "n",
                                    "rack2n1", "rack10n1", "a",   "n2-ib1", "n2-ib10",
                                    "n2-ib2",  "N1",       "",    "n1x"};
  std::ranges::sort(names, counts_before);
  const std::vector<std::string> wanted = {"",        "N1",  "a",       "n",       "n1",
                                           "n1x",     "n2",  "n02",     "n2-ib1",  "n2-ib2",
                                           "n2-ib10", "n10", "rack2n1", "rack10n1"};
  EXPECT_EQ(names, wanted);
}

TEST(NaturalOrder, ComparesNumbersOfAnyLength) {
  const std::string many(100, '9');
  EXPECT_TRUE(counts_before("n5", "n" + many));
  EXPECT_TRUE(counts_before("n" + many, "n1" + many));
  EXPECT_TRUE(counts_before("n0", "n00"));
  EXPECT_FALSE(counts_before("n00", "n0"));
}

TEST(NaturalOrder, IsAStrictTotalOrder) {
  std::mt19937 random(7);
  const auto name = [&random] {
    std::string text;
    for (auto left = random() % 6; left > 0; --left) text += "an012"[random() % 5];
    return text;
  };
  for (int round = 0; round < 20'000; ++round) {
    const auto a = name();
    const auto b = name();
    const auto c = name();
    EXPECT_EQ(a == b, !counts_before(a, b) && !counts_before(b, a)) << a << " " << b;
    EXPECT_FALSE(counts_before(a, b) && counts_before(b, a)) << a << " " << b;
    if (counts_before(a, b) && counts_before(b, c)) {
      EXPECT_TRUE(counts_before(a, c)) << a << " " << b << " " << c;
    }
  }
}

}  // namespace
}  // namespace dllaunch

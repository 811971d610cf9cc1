#include "trainer/data/datasets/synthetic_tokens.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace dllaunch {
namespace {

struct Sample {
  std::vector<float> ids;
  std::vector<std::int32_t> next;
};

Sample sample(const Dataset& dataset, Split split, std::int64_t index) {
  const auto tokens = static_cast<std::size_t>(dataset.tokens());
  Sample read{std::vector<float>(tokens), std::vector<std::int32_t>(tokens)};
  EXPECT_TRUE(dataset.read_tokens(split, index, read.ids, read.next));
  return read;
}

TEST(SyntheticTokens, DependOnSeedAndIndexAlone) {
  const auto one = synthetic_tokens({.sequence = 16, .vocabulary = 40, .samples = 20});
  const auto same = synthetic_tokens({.sequence = 16, .vocabulary = 40, .samples = 20});
  const auto other = synthetic_tokens({.sequence = 16, .vocabulary = 40, .samples = 20, .seed = 2});
  EXPECT_EQ(one->size(Split::validation), 2);
  EXPECT_EQ(sample(*one, Split::train, 3).next, sample(*same, Split::train, 3).next);
  EXPECT_NE(sample(*one, Split::train, 3).next, sample(*one, Split::train, 4).next);
  EXPECT_NE(sample(*one, Split::train, 3).next, sample(*other, Split::train, 3).next);
  EXPECT_NE(sample(*one, Split::train, 0).next, sample(*one, Split::validation, 0).next);
}

TEST(SyntheticTokens, FollowOneAnotherAndStayInTheVocabulary) {
  for (const int vocabulary : {1, 2, 50257}) {
    const auto dataset =
        synthetic_tokens({.sequence = 64, .vocabulary = vocabulary, .samples = 99});
    for (std::int64_t i = 0; i < 99; ++i) {
      const Sample read = sample(*dataset, Split::train, i);
      for (std::size_t t = 0; t < 64; ++t) {
        ASSERT_GE(read.next[t], 0);
        ASSERT_LT(read.next[t], vocabulary);
        if (t == 0) continue;
        ASSERT_EQ(read.ids[t], static_cast<float>(read.next[t - 1]));
      }
    }
  }
}

/// A network can learn which id follows which: the usual one does three times of four.
TEST(SyntheticTokens, UsuallyOneFollowsAnother) {
  const auto dataset = synthetic_tokens({.sequence = 256, .vocabulary = 60, .samples = 200});
  std::map<int, std::map<int, int>> after;
  for (std::int64_t i = 0; i < 200; ++i) {
    const Sample read = sample(*dataset, Split::train, i);
    for (std::size_t t = 0; t < 256; ++t) ++after[static_cast<int>(read.ids[t])][read.next[t]];
  }
  double usual = 0;
  double all = 0;
  for (const auto& [id, followers] : after) {
    int most = 0;
    for (const auto& [next, count] : followers) {
      most = std::max(most, count);
      all += count;
    }
    usual += most;
  }
  EXPECT_NEAR(usual / all, 0.76, 0.03) << "0.75, and now and then by chance";
}

}  // namespace
}  // namespace dllaunch

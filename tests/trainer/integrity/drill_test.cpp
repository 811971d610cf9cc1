#include "trainer/integrity/drill.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace dllaunch {
namespace {

TEST(Drill, NamesABit) {
  const auto drill = parse_drill("2:40:states:18446744073709551615", 3);
  ASSERT_TRUE(drill);
  EXPECT_EQ(drill->rank, 2);
  EXPECT_EQ(drill->step, 40);
  EXPECT_EQ(drill->part, ReplicaPart::states);
  EXPECT_EQ(drill->bit, 18446744073709551615U);
}

TEST(Drill, AnythingElseIsRefused) {
  for (const char* text : {"", "1", "1:2", "1:2:weights", "1:2:weights:", "1:2:weights:3:4",
                           "1:2:biases:3", "-1:2:weights:3", "1:0:weights:3", "1:2:weights:-3",
                           " 1:2:weights:3", "1:2:weights:3 ", "::::", "a:b:c:d"}) {
    const auto drill = parse_drill(text, 3);
    ASSERT_FALSE(drill) << text;
    EXPECT_EQ(drill.error().kind, ErrorKind::bad_request);
    EXPECT_THAT(drill.error().what, testing::HasSubstr(text));
  }
}

TEST(Drill, OfARankThatTheJobDoesNotHaveIsRefused) {
  EXPECT_TRUE(parse_drill("2:40:states:1", 3));
  for (const char* text : {"3:40:states:1", "99:40:states:1"}) {
    const auto drill = parse_drill(text, 3);
    ASSERT_FALSE(drill) << text;
    EXPECT_EQ(drill.error().kind, ErrorKind::bad_request);
    EXPECT_THAT(drill.error().what, testing::HasSubstr(": the job has 3 ranks"));
    EXPECT_EQ(drill.error().hint, "a rank from 0 to 2");
  }
}

/// Whatever is read is what was written.
TEST(Drill, ChangedTextsAreReadOrRefused) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = "12:345:gradients:6789";
    for (int changes = 0; changes < 3; ++changes) {
      text[random() % text.size()] = static_cast<char>(random() % 128);
    }
    const auto drill = parse_drill(text, 100);
    if (!drill) continue;
    EXPECT_GE(drill->rank, 0) << text;
    EXPECT_GE(drill->step, 1) << text;
    EXPECT_LE(drill->part, ReplicaPart::gradients) << text;
  }
}

}  // namespace
}  // namespace dllaunch

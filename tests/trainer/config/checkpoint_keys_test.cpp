#include "trainer/config/checkpoint_keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

using testing::HasSubstr;

Result<TrainConfig> parse(const std::string& block, const std::string& more = "") {
  return parse_config(R"({"model": "lenet", "checkpoint": )" + block + more + "}");
}

TEST(CheckpointKeys, AreAllRead) {
  const auto config = parse(R"({"every_epochs": 4, "every_minutes": 2.5, "mtbf_hours": 8,
      "keep": 7, "best": "val_loss", "mb_per_s": 200, "wait_seconds": 0, "on_error": "continue"})");
  ASSERT_TRUE(config) << config.error().what;
  const CheckpointConfig& checkpoint = config->checkpoint;
  EXPECT_EQ(checkpoint.every_epochs, 4);
  EXPECT_EQ(checkpoint.every_minutes, 2.5);
  EXPECT_FALSE(checkpoint.every_auto);
  EXPECT_EQ(checkpoint.mtbf_hours, 8);
  EXPECT_EQ(checkpoint.keep, 7);
  EXPECT_EQ(checkpoint.best, "val_loss");
  EXPECT_EQ(checkpoint.mb_per_s, 200);
  EXPECT_EQ(checkpoint.wait_seconds, 0);
  EXPECT_FALSE(checkpoint.stop_on_error);
}

TEST(CheckpointKeys, NullsAndDefaultsAreTheSame) {
  const auto defaults = parse("{}");
  const auto nulls = parse(R"({"every_minutes": null, "mtbf_hours": null, "best": null,
                               "mb_per_s": null})");
  ASSERT_TRUE(defaults && nulls) << nulls.error().what;
  for (const CheckpointConfig& checkpoint : {defaults->checkpoint, nulls->checkpoint}) {
    EXPECT_EQ(checkpoint.every_epochs, 1);
    EXPECT_FALSE(checkpoint.every_minutes || checkpoint.every_auto || checkpoint.mtbf_hours);
    EXPECT_EQ(checkpoint.keep, 3);
    EXPECT_EQ(checkpoint.best, "");
    EXPECT_FALSE(checkpoint.mb_per_s);
    EXPECT_EQ(checkpoint.wait_seconds, 10);
    EXPECT_TRUE(checkpoint.stop_on_error);
  }
  EXPECT_FALSE(parse(R"({"wait_seconds": null, "every_epochs": null})")->checkpoint.wait_seconds);
}

TEST(CheckpointKeys, MinutesMayBeAuto) {
  const auto config = parse(R"({"every_minutes": "auto"})");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_TRUE(config->checkpoint.every_auto);
  EXPECT_FALSE(config->checkpoint.every_minutes);
  EXPECT_THAT(
      parse(R"({"every_minutes": "often"})").error().what,
      HasSubstr("checkpoint.every_minutes must be a number or auto or null, not \"often\""));
  EXPECT_THAT(parse(R"({"every_minutes": 0})").error().what, HasSubstr("must be greater than 0"));
}

TEST(CheckpointKeys, MistakesAreNamed) {
  EXPECT_THAT(parse(R"({"best": "val_acuracy"})").error().what,
              HasSubstr("checkpoint.best has no 'val_acuracy'; did you mean 'val_accuracy'?"));
  EXPECT_THAT(parse(R"({"on_error": "ignore"})").error().what, HasSubstr("(stop, continue)"));
  EXPECT_THAT(parse(R"({"best": "val_loss"})", R"(, "validate_every": 0)").error().what,
              HasSubstr("checkpoint.best: val_loss is measured in validations"));
  EXPECT_TRUE(parse(R"({"best": "loss"})", R"(, "validate_every": 0)"));
}

}  // namespace
}  // namespace dllaunch

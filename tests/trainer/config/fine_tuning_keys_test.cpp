#include "trainer/config/fine_tuning_keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Result<TrainConfig> parse(const std::string& keys) {
  return parse_config(R"({"model": "lenet", )" + keys + "}");
}

TEST(FineTuningKeys, AreAllRead) {
  const auto config = parse(R"("init_from": "/w.safetensors", "init_skip": ["fc", "*.bias"],
                               "freeze": ["!fc"])");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->fine_tuning.init_from, "/w.safetensors");
  EXPECT_THAT(config->fine_tuning.init_skip, ElementsAre("fc", "*.bias"));
  EXPECT_THAT(config->fine_tuning.freeze, ElementsAre("!fc"));
}

TEST(FineTuningKeys, AreOffByDefault) {
  for (const char* keys : {R"("seed": 1)", R"("init_from": null, "freeze": [])"}) {
    const auto config = parse(keys);
    ASSERT_TRUE(config) << config.error().what;
    EXPECT_EQ(config->fine_tuning.init_from, "");
    EXPECT_THAT(config->fine_tuning.init_skip, IsEmpty());
    EXPECT_THAT(config->fine_tuning.freeze, IsEmpty());
  }
}

TEST(FineTuningKeys, AListHoldsNamesOnly) {
  EXPECT_EQ(parse(R"("freeze": "fc")").error().what,
            R"(freeze must be a list of strings, not "fc")");
  EXPECT_EQ(parse(R"("freeze": [1])").error().what, "freeze must be a list of strings, not [1]");
  EXPECT_EQ(parse(R"("freeze": [""])").error().what,
            R"(freeze must be a list of strings, not [""])");
  EXPECT_EQ(parse(R"("init_skip": null)").error().what,
            "init_skip must be a list of strings, not null");
}

TEST(FineTuningKeys, GoTogether) {
  EXPECT_EQ(parse(R"("init_skip": ["fc"])").error().what,
            "init_skip needs init_from, the file that it skips names of; set init_from, or remove "
            "init_skip");
  EXPECT_EQ(parse(R"("init_from": "/a", "resume": "/other")").error().what,
            "init_from and resume both give the first weights; remove one of them");
  for (const char* resume : {"auto", "none"}) {
    EXPECT_TRUE(parse(R"("init_from": "/a", "resume": ")" + std::string(resume) + "\""));
  }
}

TEST(FineTuningKeys, TheSchemaAsksForLists) {
  const auto schema = Json::parse(describe_config());
  const auto& freeze = schema["properties"]["freeze"];
  EXPECT_EQ(freeze["type"], "array");
  EXPECT_EQ(freeze["items"]["type"], "string");
  EXPECT_EQ(freeze["default"], Json::array());
}

}  // namespace
}  // namespace dllaunch

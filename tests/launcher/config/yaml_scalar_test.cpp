#include "launcher/config/yaml_scalar.hpp"

#include <gtest/gtest.h>

#include "support/json.hpp"

namespace dllaunch {
namespace {

Json scalar(const std::string& text, bool is_plain) {
  YamlNode node;
  node.kind = YamlKind::scalar;
  node.text = text;
  node.plain = is_plain;
  return scalar_value(node);
}

Json plain(const std::string& text) {
  return scalar(text, true);
}

TEST(YamlScalar, FollowsTheCoreSchemaOfYaml12) {
  for (const char* text : {"~", "null", "Null", "NULL", ""}) EXPECT_EQ(plain(text), nullptr);
  for (const char* text : {"true", "True", "TRUE"}) EXPECT_EQ(plain(text), true);
  for (const char* text : {"false", "False", "FALSE"}) EXPECT_EQ(plain(text), false);
  EXPECT_EQ(plain("-12"), -12);
  EXPECT_EQ(plain("+12"), 12);
  EXPECT_EQ(plain("007"), 7);
  EXPECT_EQ(plain("0x1F"), 31);
  EXPECT_EQ(plain("0o17"), 15);
  EXPECT_EQ(plain("1e3"), 1000.0);
  EXPECT_EQ(plain("-.5"), -0.5);
  EXPECT_EQ(plain("1."), 1.0);
  EXPECT_TRUE(plain("1.0").is_number_float());
}

TEST(YamlScalar, LeavesAloneWhatOnlyYaml11TookForSomethingElse) {
  for (const char* text :
       {"yes",  "no",      "on",  "off",   "y",  "tRUE", "00:30:00", "1_000", "0b1",
        "-0x1", "1-12:00", ".",   "e3",    "1e", "-",    "+-1",      "--1",   ".inf",
        ".nan", "inf",     "nan", "1e999", "0x", "1 2",  "infinity"}) {
    EXPECT_EQ(plain(text), text);
  }
}

TEST(YamlScalar, KeepsQuotedTextAsText) {
  EXPECT_EQ(scalar("12", false), "12");
}

}  // namespace
}  // namespace dllaunch

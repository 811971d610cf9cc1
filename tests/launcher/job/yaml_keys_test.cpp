#include "launcher/job/yaml_keys.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(YamlKeys, AreFoundByTheirPath) {
  const auto document = parse_yaml("a: {b: 1, b: 2}\nc: x\n", 0);
  ASSERT_TRUE(document.root);
  EXPECT_EQ(text_at(*document.root, "a.b"), "2") << "the last one counts";
  EXPECT_EQ(text_at(*document.root, "c"), "x");
  EXPECT_EQ(text_at(*document.root, "a.d"), "");
  EXPECT_EQ(key_at(*document.root, "c.d"), nullptr);
}

TEST(YamlKeys, AreSetWithMissingBlocks) {
  const auto document = parse_yaml("a:\nc: x\n", 0);
  YamlNode& root = *document.root;
  set_key(root, "a.b", "1", {0, 2, 3});
  set_key(root, "d.e", "2", {});
  set_key(root, "c.f", "3", {});
  EXPECT_EQ(text_at(root, "a.b"), "1");
  EXPECT_EQ(key_at(root, "a.b")->value->mark.column, 3);
  EXPECT_EQ(text_at(root, "d.e"), "2");
  EXPECT_EQ(text_at(root, "c"), "x") << "a word is no block";
}

TEST(YamlKeys, OfOtherBlocksStayWhereAnAnchorSharesThem) {
  const auto document = parse_yaml("a: &shared {b: 1}\nc: *shared\n", 0);
  YamlNode& root = *document.root;
  set_key(root, "a.b", "2", {});
  own_value_at(root, "c.b")->text += "0";
  EXPECT_EQ(text_at(root, "a.b"), "2");
  EXPECT_EQ(text_at(root, "c.b"), "10");
}

}  // namespace
}  // namespace dllaunch

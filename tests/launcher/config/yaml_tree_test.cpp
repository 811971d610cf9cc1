#include "launcher/config/yaml_tree.hpp"

#include <gtest/gtest.h>

#include <ctime>

namespace dllaunch {
namespace {

std::string at(const Mark& mark) {
  return std::to_string(mark.line) + ":" + std::to_string(mark.column);
}

TEST(YamlTree, KnowsWhereEveryWordStands) {
  const auto document = parse_yaml("größe: {a: ✓, 'b': [1, x]}\nc:\n  - d\n", 0);
  ASSERT_TRUE(document.root);
  const YamlNode& root = *document.root;
  ASSERT_EQ(root.entries.size(), 2u);
  EXPECT_EQ(root.entries[0].key, "größe");
  EXPECT_EQ(at(root.entries[0].mark), "1:1");
  const YamlNode& block = *root.entries[0].value;
  EXPECT_EQ(at(block.entries[0].mark), "1:9");
  EXPECT_EQ(at(block.entries[0].value->mark), "1:12");
  EXPECT_EQ(at(block.entries[1].mark), "1:15");
  EXPECT_EQ(at(block.entries[1].value->items[1]->mark), "1:24");
  EXPECT_EQ(at(root.entries[1].value->items[0]->mark), "3:5");
  EXPECT_TRUE(block.entries[0].value->plain);
}

TEST(YamlTree, BeginsWhereItIsTold) {
  const auto document = parse_yaml("[a, b]", 3, 10);
  EXPECT_EQ(document.root->items[1]->mark.source, 3);
  EXPECT_EQ(document.root->items[1]->mark.column, 14);
}

TEST(YamlTree, TellsQuotedFromPlain) {
  const auto document = parse_yaml("- a\n- 'b'\n- !!str 1\n- |\n  2\n- ! 3\n", 0);
  ASSERT_TRUE(document.root);
  std::string plain;
  for (const auto& item : document.root->items) plain += item->plain ? 'p' : 't';
  EXPECT_EQ(plain, "ptttt");
}

TEST(YamlTree, AliasesStandWhereTheyAreUsed) {
  const auto document = parse_yaml("a: &x [1]\nb:   *x\n", 0);
  const auto& alias = *document.root->entries[1].value;
  EXPECT_EQ(alias.items.size(), 1u);
  EXPECT_EQ(at(alias.mark), "2:6");
}

TEST(YamlTree, EmptyTextIsANullNode) {
  for (const char* text : {"", "\n\n", "# comment", "---\n", "...\n", "~"}) {
    const auto document = parse_yaml(text, 0);
    ASSERT_TRUE(document.root) << text;
    EXPECT_EQ(document.root->kind, YamlKind::null) << text;
  }
}

TEST(YamlTree, IsBounded) {
  const std::clock_t begin = std::clock();
  EXPECT_EQ(parse_yaml(std::string(2'000'000, 'a'), 0).problem->message, "larger than 1 MiB");
  EXPECT_EQ(parse_yaml("a: |\n  b\nc: " + std::string(20'001, '['), 0).problem->message,
            "more than 20000 brackets in one line");
  EXPECT_EQ(parse_yaml(std::string(1'000'000, '{'), 0).problem->message,
            "more than 20000 brackets in one line");
  EXPECT_EQ(parse_yaml("a: " + std::string(99, '[') + std::string(99, ']'), 0).problem->message,
            "nested deeper than 64 levels");
  std::string blocks;
  for (int i = 0; i < 100; ++i) blocks += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_EQ(parse_yaml(blocks, 0).problem->message, "nested deeper than 64 levels");
  std::string items;
  for (int i = 0; i < 200'000; ++i) items += "- a\n";
  EXPECT_EQ(parse_yaml(items, 0).problem->message, "more than 100000 values, aliases included");
  // An anchor of 5,000 items, used again and again.
  std::string aliases = "- &a [";
  for (int i = 0; i < 5000; ++i) aliases += "x,";
  aliases += "x]\n";
  for (int i = 0; i < 5000; ++i) aliases += "- *a\n";
  EXPECT_EQ(parse_yaml(aliases, 0).problem->message, "more than 100000 values, aliases included");
  EXPECT_LT(std::clock() - begin, 20 * CLOCKS_PER_SEC);
}

TEST(YamlTree, SplitsLines) {
  EXPECT_EQ(lines_of("a\r\nb\n\nc"), (std::vector<std::string_view>{"a", "b", "", "c"}));
  EXPECT_EQ(lines_of("a\n").size(), 1u);
  EXPECT_EQ(lines_of("").size(), 1u);
}

}  // namespace
}  // namespace dllaunch

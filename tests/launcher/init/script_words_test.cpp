#include "launcher/init/script_words.hpp"

#include <gmock/gmock.h>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::set<std::string> read_in(const std::string& text) {
  return names_read_in(lint::read_shell(text).root);
}

TEST(ScriptWords, UnknownPartsOfAWordAreMarked) {
  const auto tree = lint::read_shell("a\"b c\"$D x");
  const auto& command =
      tree.root.kind == lint::NodeKind::command ? tree.root : tree.root.children[0];
  EXPECT_EQ(bytes_of(command.words[0]), std::string("ab c\0", 5));
  EXPECT_FALSE(is_known(bytes_of(command.words[0])));
  EXPECT_TRUE(is_known(bytes_of(command.words[1])));
}

TEST(ScriptWords, NamesAreReadAnywhereBelow) {
  EXPECT_THAT(read_in("A=$B echo \"$C\" > $D"), ElementsAre("B", "C", "D"));
  EXPECT_THAT(read_in("if x; then y=($(cat ${A[@]})); fi"), ElementsAre("A"));
  EXPECT_THAT(read_in("cat << E\n$A ${B:-$C}\nE\n"), ElementsAre("A", "B", "C"));
  EXPECT_THAT(read_in("echo $((A * 2)) '$B'"), ElementsAre("A"));
  EXPECT_THAT(read_in("A=1 true B"), IsEmpty());
}

TEST(ScriptWords, LinesGoWithTheirCommands) {
  const std::string text = "a\n  b  # why\nc; d\ne\n";
  const auto tree = lint::read_shell(text);
  std::vector<const lint::Node*> own;
  for (const auto& node : tree.root.children)
    if (has_own_lines(text, node)) own.push_back(&node);
  ASSERT_EQ(own.size(), 3u) << "a, b and e";
  EXPECT_EQ(lines_without(text, 0, text.size(), own), "c; d\n");
  EXPECT_EQ(lines_without(text, 0, text.size(), std::span(own).subspan(1, 1)), "a\nc; d\ne\n");
  EXPECT_EQ(lines_without(text, 2, 10, {}), text.substr(2, 8));
}

}  // namespace
}  // namespace dllaunch

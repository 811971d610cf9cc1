#include "launcher/cli/pager.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

TEST(Pager, OwnVariableComesFirstAndEmptyMeansNone) {
  EXPECT_EQ(pager_command(std::nullopt, std::nullopt), "less");
  EXPECT_EQ(pager_command(std::nullopt, "more"), "more");
  EXPECT_EQ(pager_command("cat", "more"), "cat");
  EXPECT_EQ(pager_command("", "more"), "");
  EXPECT_EQ(pager_command(std::nullopt, ""), "");
}

TEST(Pager, CountsLinesAsTheTerminalBreaksThem) {
  EXPECT_FALSE(is_longer_than("a\nb\n", 3, 80));
  EXPECT_TRUE(is_longer_than("a\nb\n", 2, 80));
  EXPECT_TRUE(is_longer_than(std::string(81, 'a') + "\nb\n", 3, 80));
  EXPECT_FALSE(is_longer_than("\033[1;31m" + std::string(78, 'a') + "\033[0m\nb\n", 3, 80))
      << "colours take no room";
  EXPECT_FALSE(is_longer_than("\033[", 3, 80));
}

TEST(Pager, GivesItTheWholeText) {
  const TemporaryFolder folder;
  const std::string text(300'000, 'a');  // more than a pipe holds
  EXPECT_TRUE(show_in_pager("cat > '" + folder.path() + "/seen'", text));
  std::ostringstream seen;
  seen << std::ifstream(folder.path() + "/seen").rdbuf();
  EXPECT_EQ(seen.str(), text);
  EXPECT_TRUE(show_in_pager("true", text)) << "left early";
  EXPECT_FALSE(show_in_pager("no-such-pager-1234 2> /dev/null", text));
}

}  // namespace
}  // namespace dllaunch

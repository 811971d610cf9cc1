#include "launcher/config/diagnostics.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

std::string show(int column, const std::string& source) {
  const Diagnostic problem{
      .file = "f", .line = 3, .column = column, .message = "bad", .source = source};
  return render({&problem, 1}, /*color=*/false);
}

TEST(Diagnostics, PutTheCaretUnderTheCharacter) {
  EXPECT_EQ(show(3, "a b"), "f:3:3: error: bad\n  a b\n    ^\n");
  EXPECT_EQ(show(3, "üü✓"), "f:3:3: error: bad\n  üü✓\n    ^\n");
  EXPECT_EQ(show(3, "a\tb"), "f:3:3: error: bad\n  a\tb\n   \t^\n");
  EXPECT_EQ(show(2, ""), "f:3:2: error: bad\n  \n  ^\n");
  EXPECT_EQ(show(2,
                 "\x1b"
                 "b"),
            "f:3:2: error: bad\n  \\x1bb\n      ^\n");
}

TEST(Diagnostics, CutLongLinesAroundTheCaret) {
  const std::string shown = show(501, std::string(1000, 'x'));
  EXPECT_EQ(shown, "f:3:501: error: bad\n  ..." + std::string(160, 'x') + "...\n  " +
                       std::string(83, ' ') + "^\n");
}

TEST(Diagnostics, AreColouredOnRequest) {
  const Diagnostic problem{.file = "f", .line = 1, .column = 1, .message = "bad", .source = "a"};
  EXPECT_EQ(render({&problem, 1}, true),
            "f:1:1: \033[1;31merror:\033[0m bad\n  a\n  \033[1;32m^\033[0m\n");
}

}  // namespace
}  // namespace dllaunch

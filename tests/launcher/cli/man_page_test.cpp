// mandoc judges the real pages.
#include "launcher/cli/man_page.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launcher/os/posix_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

TEST(ManPage, EscapesWhatWouldBeMarkup) {
  EXPECT_EQ(man_section("a-b", ".x\n'y\\z\n"), ".SH A\\-B\n.nf\n\\&.x\n\\&'y\\ez\n.fi\n");
}

TEST(ManPage, EveryPageOfTheBuildPassesMandoc) {
  PosixSystem system{Console{}};
  if (!system.find_program("mandoc")) GTEST_SKIP() << "unavailable: mandoc";
  std::vector<std::string> argv = {"mandoc", "-T", "lint"};
  const std::string folder = std::string(DLLAUNCH_BIN_DIR) + "/../share/man/man1/";
  for (const CommandGroup& group : command_groups())
    for (const Command* command : group.commands)
      argv.push_back(folder + "dllaunch-" + std::string(command->name) + ".1");
  argv.push_back(folder + "dllaunch.1");
  const auto judged = system.run(argv, 60s);
  ASSERT_TRUE(judged);
  EXPECT_EQ(judged->exit_code, 0);
  EXPECT_EQ(judged->out + judged->err, "");
}

}  // namespace
}  // namespace dllaunch

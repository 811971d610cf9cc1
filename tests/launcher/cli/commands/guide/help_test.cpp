// `dllaunch help`: commands, topics and the pager, as a person calls it.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "launcher/base/split.hpp"
#include "launcher/cli/command_line.hpp"
#include "launcher/cli/commands/guide/topics.hpp"
#include "launcher/os/posix_system.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

Result<int> call(System& system, const std::vector<std::string>& args) {
  auto parsed =
      parse_command_line(command_groups(), args, [](const std::string&) { return false; });
  if (!parsed) return std::move(parsed).error();
  return std::get<Invocation>(*parsed).body(system);
}

std::string help(const std::vector<std::string>& words) {
  FakeSystem system;
  std::vector<std::string> args = {"help"};
  args.insert(args.end(), words.begin(), words.end());
  const auto code = call(system, args);
  return code ? system.printed : code.error().what;
}

TEST(HelpCommand, ShowsWhatDashDashHelpShows) {
  const auto shown = [](const std::vector<std::string>& args) {
    const auto parsed =
        parse_command_line(command_groups(), args, [](const std::string&) { return false; });
    return std::get<Answer>(*parsed).text;
  };
  EXPECT_EQ(help({"run"}), shown({"run", "--help"}));
  EXPECT_TRUE(help({}).starts_with(shown({"--help"})));
  EXPECT_NE(help({}).find("recovery"), std::string::npos) << "topics";
  EXPECT_EQ(help({"recovry"}), "no command or topic 'recovry'; did you mean 'recovery'?");
  EXPECT_EQ(help({"?"}), "no command or topic '?'");
}

TEST(HelpCommand, TopicsAreGoldenAndFitEightyColumns) {
  for (const Topic& topic : topics()) {
    const std::string name(topic.name);
    EXPECT_EQ(help({name}), topic.text());
    EXPECT_TRUE(matches_golden("launcher/help/topics/" + name + ".txt", topic.text()));
    for (const std::string_view line : split_lines(topic.text()))
      EXPECT_LE(line.size(), 80u) << line;
  }
}

/// Variables that a program of ours reads or sets, by what its source says.
TEST(HelpCommand, EveryVariableOfOursIsInTheTopic) {
  // Between processes of dllaunch itself.
  std::set<std::string> found = {};
  const std::set<std::string> internal = {"DLLAUNCH_DAEMON_SETTINGS", "DLLAUNCH_PREFLIGHT_SECRET"};
  const std::regex literal("\"(DLLAUNCH_[A-Z_]+)\"");
  for (const char* room : {"support", "topology", "runtime", "trainer", "launcher"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(DLLAUNCH_SOURCE_DIR) / room)) {
      const auto extension = entry.path().extension();
      const bool is_table = entry.path().filename() == "topics.cpp";
      if ((extension != ".cpp" && extension != ".hpp") || is_table) continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        std::smatch match;
        if (std::regex_search(line, match, literal)) found.insert(match[1]);
      }
    }
  }
  EXPECT_GT(found.size(), 5u);
  const std::string topic = help({"environment"});
  for (const std::string& name : found) {
    EXPECT_NE(topic.find(name) != std::string::npos, internal.contains(name)) << name;
  }
}

/// A real terminal of 80 columns and 10 lines.
class OnATerminal : public testing::Test {
 protected:
  void SetUp() override {
    if (!system_.find_program("script")) GTEST_SKIP() << "unavailable: script";
  }

  std::string show(const std::string& variables, const std::string& arguments) {
    const std::string command = "stty rows 10 cols 80; " + variables + " \"$PROGRAM\" " + arguments;
    const auto output =
        system_.run({"env", "TERM=xterm", "SHELL=/bin/sh", "PROGRAM=" DLLAUNCH_BIN_DIR "/dllaunch",
                     "script", "-qec", command, "/dev/null"},
                    60s);
    EXPECT_TRUE(output);
    return output ? output->out : "";
  }

  PosixSystem system_{Console{}};
};

TEST_F(OnATerminal, LongTextGoesToThePager) {
  const std::string pager = "DLLAUNCH_PAGER='sed s/^/PAGED:/'";
  EXPECT_TRUE(show(pager, "--help").starts_with("PAGED:dllaunch: "));
  EXPECT_TRUE(show(pager, "help binding").starts_with("PAGED:A rank"));
  EXPECT_TRUE(show("PAGER='sed s/^/P:/'", "schema").starts_with("P:{"));
  EXPECT_TRUE(show(pager, "--version").starts_with("dllaunch ")) << "short";
  EXPECT_TRUE(show(pager, "--help | cat").starts_with("dllaunch: ")) << "not a terminal";
  EXPECT_TRUE(show("DLLAUNCH_PAGER= PAGER='sed s/^/P:/'", "--help").starts_with("dllaunch: "));
  EXPECT_TRUE(show("TERM=dumb " + pager, "--help").starts_with("dllaunch: "));
  EXPECT_NE(show("DLLAUNCH_PAGER=no-such-pager-1234", "--help").find("\ndllaunch: "),
            std::string::npos)
      << "its text is not lost";
}

}  // namespace
}  // namespace dllaunch

// `dllaunch help`: commands, topics and the pager, as a person calls it.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "launcher/base/split.hpp"
#include "launcher/cli/command_line.hpp"
#include "launcher/cli/commands/guide/environment_variables.hpp"
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
  for (const Topic& topic : topics())
    EXPECT_THAT(help({}),
                testing::ContainsRegex(fmt::format("\n  {} +{}", topic.name, topic.summary)));
  EXPECT_EQ(help({"recovry"}), "no command or topic 'recovry'; did you mean 'recovery'?");
  EXPECT_EQ(help({"?"}), "no command or topic '?'");
}

TEST(HelpCommand, TopicsAreGoldenAndFitEightyColumns) {
  for (const Topic& topic : topics()) {
    const std::string name(topic.name);
    EXPECT_EQ(help({name}), topic.text());
    EXPECT_TRUE(matches_golden("launcher/help/topics/" + name + ".txt", topic.text()));
    const auto text = topic.text();
    for (const std::string_view line : split_lines(text)) EXPECT_LE(line.size(), 80u) << line;
  }
}

/// The variables that the rooms name as literals, with the rooms: "DLLAUNCH_GPUS" -> {launcher}.
std::map<std::string, std::set<std::string>> variables_in_source() {
  std::map<std::string, std::set<std::string>> found;
  const std::regex literal(
      "\"(DLLAUNCH_[A-Z_]+|XDG_[A-Z_]+|NO_COLOR)\"|^export (DLLAUNCH_[A-Z_]+)");
  for (const char* room : {"support", "topology", "runtime", "trainer", "launcher", "templates"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(DLLAUNCH_SOURCE_DIR) / room)) {
      if (!entry.is_regular_file() || entry.path().stem() == "environment_variables") continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        std::smatch match;
        if (std::regex_search(line, match, literal))
          found[match[1].matched ? match[1] : match[2]].insert(room);
      }
    }
  }
  return found;
}

/// The row of a name; nullptr: none.
const EnvironmentVariable* variable_row(const std::string& name) {
  for (const EnvironmentVariable& row : environment_variables()) {
    if ((std::string(row.name) + ",").find(name + ",") != std::string::npos) return &row;
  }
  return nullptr;
}

TEST(HelpCommand, EveryVariableOfTheSourceIsInTheTopicWithItsPrograms) {
  const auto found = variables_in_source();
  EXPECT_GT(found.size(), 12u);
  for (const auto& [name, rooms] : found) {
    const EnvironmentVariable* row = variable_row(name);
    ASSERT_NE(row, nullptr) << name;
    const std::string programs = fmt::format("{}, {}", row->set_by, row->read_by);
    const bool of_trainer = rooms.contains("trainer") || rooms.contains("runtime");
    EXPECT_EQ(row->read_by.find("dltrain") != std::string::npos, of_trainer) << name;
    if (rooms.contains("launcher")) {
      EXPECT_NE(programs.find("dllaunch"), std::string::npos) << name;
    }
  }
  for (const EnvironmentVariable& row : environment_variables()) {
    const std::string name(row.name.substr(0, row.name.find(',')));
    if (!name.starts_with("DLLAUNCH_")) continue;
    EXPECT_TRUE(found.contains(name)) << name << " is in the topic alone";
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

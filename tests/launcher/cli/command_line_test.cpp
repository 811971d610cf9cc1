#include "launcher/cli/command_line.hpp"

#include <gtest/gtest.h>

#include "launcher/base/version.hpp"

namespace dllaunch {
namespace {

Result<Parsed> parse(const std::vector<std::string>& args) {
  return parse_command_line(command_groups(), args,
                            [](const std::string& path) { return path == "there.yaml"; });
}

std::string failure(const std::vector<std::string>& args) {
  const auto parsed = parse(args);
  return parsed ? "no failure" : parsed.error().what;
}

TEST(CommandLine, TakesGlobalOptionsOnBothSidesOfTheVerb) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"-v", "--color", "always", "info", "--json"},
        {"info", "--json", "--color=always", "-v"},
        {"--color=always", "info", "-v", "--json"}}) {
    const auto parsed = parse(args);
    ASSERT_TRUE(parsed) << parsed.error().what;
    const auto& invocation = std::get<Invocation>(*parsed);
    EXPECT_EQ(invocation.command->name, "info");
    EXPECT_EQ(invocation.color, ColorChoice::always);
    EXPECT_EQ(invocation.verbosity, 1);
  }
}

TEST(CommandLine, AnswersHelpAndVersion) {
  EXPECT_EQ(std::get<Answer>(*parse({"--help"})).text, render_help(command_groups()));
  for (const char* option : {"--version", "-V"})
    EXPECT_EQ(std::get<Answer>(*parse({option})).text, "dllaunch " + std::string(version()) + "\n");
}

TEST(CommandLine, NamesWhatItDoesNotKnow) {
  EXPECT_EQ(failure({"inof"}), "unknown command 'inof'; did you mean 'info'?");
  EXPECT_EQ(parse({"stop", "x"}).error().hint, "use dllaunch cancel RUN");
  EXPECT_EQ(failure({"missing.yaml"}), "no such file: 'missing.yaml'");
  EXPECT_EQ(failure({"info", "--jsno"}), "info: unknown option '--jsno'; did you mean '--json'?");
  EXPECT_EQ(failure({"info", "more"}), "info: unexpected argument 'more'");
  EXPECT_EQ(failure({"--colour", "always"}), "unknown option '--colour'; did you mean '--color'?");
  EXPECT_EQ(failure({"info", "--color", "blue"}),
            "info: --color: 'blue' is not auto, always or never");
  EXPECT_EQ(failure({}), "nothing to do: no command and no job file");
  EXPECT_EQ(failure({"validate"}), "validate: JOB.yaml is required");
  EXPECT_EQ(failure({"--frobnicate"}), "unknown option '--frobnicate'");
}

TEST(CommandLine, MapsEveryKindOfErrorToItsExitCode) {
  EXPECT_EQ(exit_code_of(ErrorKind::bad_request), 2);
  EXPECT_EQ(exit_code_of(ErrorKind::unsatisfiable), 3);
  EXPECT_EQ(exit_code_of(ErrorKind::unavailable), 3);
  EXPECT_EQ(exit_code_of(ErrorKind::timeout), 3);
}

}  // namespace
}  // namespace dllaunch

#include "launcher/presubmit/module_checks.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "launcher/os/posix_system.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

FakeSystem answering(CommandOutput output) {
  FakeSystem system;
  system.respond = [output](const std::vector<std::string>&) { return output; };
  return system;
}

TEST(ModuleChecks, NamesTheOnesThatAreMissing) {
  auto system = answering({0, "a site's greeting\nmissing b/2\ndone\n", ""});
  const auto found = check_modules({"a", "b/2", "b"}, system);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].fatal);
  EXPECT_EQ(found[0].problem.what, "environment.modules: b/2 cannot be loaded here");
  EXPECT_THAT(found[0].problem.hint, HasSubstr("module load b/2"));
}

TEST(ModuleChecks, WithoutModulesNothingIsAsked) {
  FakeSystem system;
  EXPECT_TRUE(check_modules({}, system).empty());
  EXPECT_TRUE(system.ran.empty());
}

TEST(ModuleChecks, NoModuleCommandAndNoAnswer) {
  auto none = answering({77, "", ""});
  ASSERT_EQ(check_modules({"a"}, none).size(), 1U);
  EXPECT_EQ(check_modules({"a"}, none)[0].problem.kind, ErrorKind::unavailable);
  auto broken = answering({1, "", "bash: syntax error"});
  ASSERT_EQ(check_modules({"a"}, broken).size(), 1U);
  EXPECT_FALSE(check_modules({"a"}, broken)[0].fatal);
}

/// The real command, Environment Modules or Lmod, on modules of our own.
TEST(ModuleChecks, AskTheRealCommand) {
  PosixSystem system{Console{}};
  const auto there = system.run({"bash", "-lc", "type module"}, std::chrono::seconds(20));
  if (!there || there->exit_code != 0) GTEST_SKIP() << "no environment-modules and no lmod here";
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() + "/app");
  std::filesystem::create_directories(folder.path() + "/hidden/inner");
  std::ofstream(folder.path() + "/app/1.0") << "#%Module1.0\nsetenv APP 1\n";
  std::ofstream(folder.path() + "/broken") << "#%Module1.0\nerror here\n";
  std::ofstream(folder.path() + "/outer")
      << "#%Module1.0\nmodule use " + folder.path() + "/hidden\nsetenv OUTER 1\n";
  std::ofstream(folder.path() + "/hidden/inner/2") << "#%Module1.0\nsetenv INNER 1\n";
  setenv("MODULEPATH", folder.path().c_str(), 1);
  EXPECT_TRUE(check_modules({"app"}, system).empty());
  EXPECT_TRUE(check_modules({"app/1.0", "outer", "inner/2"}, system).empty())
      << "one module brings others into reach";
  const auto found = check_modules({"inner", "app/9", "$(touch x)", "broken", "app"}, system);
  unsetenv("MODULEPATH");
  ASSERT_EQ(found.size(), 4U);
  EXPECT_THAT(found[0].problem.what, HasSubstr("inner"));
  EXPECT_THAT(found[1].problem.what, HasSubstr("app/9"));
  EXPECT_THAT(found[2].problem.what, HasSubstr("$(touch x)"));
  EXPECT_THAT(found[3].problem.what, HasSubstr("broken"));
  EXPECT_FALSE(std::filesystem::exists("x"));
}

}  // namespace
}  // namespace dllaunch

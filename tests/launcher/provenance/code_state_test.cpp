#include "launcher/provenance/code_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/provenance/git_repository.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(CodeState, IsReadFromWhatGitPrints) {
  const auto clean = code_state_in("# branch.oid 0123abc\n# branch.head main\n# branch.ab +1 -0\n");
  EXPECT_EQ(clean.revision, "0123abc");
  EXPECT_EQ(clean.branch, "main");
  EXPECT_EQ(clean.dirty, false);
  EXPECT_EQ(code_state_in("# branch.oid 1\n1 .M N... 100644 a\n").dirty, true);
  const auto none = code_state_in("# branch.oid (initial)\n# branch.head (detached)\n");
  EXPECT_EQ(none.revision, "");
  EXPECT_EQ(none.branch, "");
}

TEST(CodeState, OfARepositoryThatTakesTooLongIsItsRevision) {
  FakeSystem system;
  system.respond = [](const auto& argv) -> std::optional<Result<CommandOutput>> {
    if (argv.back() == "HEAD") return CommandOutput{0, "0123abc\n", ""};
    return Result<CommandOutput>(Error{ErrorKind::timeout, "git did not end within 2 s", ""});
  };
  const auto code = read_code_state(system, "/large");
  ASSERT_TRUE(code);
  EXPECT_EQ(code->revision, "0123abc");
  EXPECT_EQ(code->dirty, std::nullopt);
  EXPECT_EQ(code->why, "git did not end within 2 s");
}

TEST(CodeState, WithoutGitThereIsNone) {
  FakeSystem system;
  EXPECT_EQ(read_code_state(system, "/x"), std::nullopt);
}

TEST(CodeState, OfARealRepository) {
  if (!has_git()) GTEST_SKIP() << "no git";
  GitRepository repository;
  const auto state = [&] { return read_code_state(repository.system, repository.path()); };
  ASSERT_TRUE(state());
  EXPECT_EQ(state()->revision, "") << "no commit yet";
  repository.write("train.py", "one\n");
  repository.commit();
  EXPECT_EQ(state()->revision + "\n", repository.git({"rev-parse", "HEAD"}));
  EXPECT_EQ(state()->branch, "main");
  EXPECT_EQ(state()->dirty, false);
  repository.write("new.py", "untracked\n");
  EXPECT_EQ(state()->dirty, false) << "git does not track it";
  repository.write("train.py", "two\n");
  EXPECT_EQ(state()->dirty, true);
  const TemporaryFolder outside;
  EXPECT_EQ(read_code_state(repository.system, outside.path()), std::nullopt);
  EXPECT_EQ(read_code_state(repository.system, "/nowhere"), std::nullopt);
}

TEST(CodeState, ItsDiffIsBoundedAndEndsWithALine) {
  if (!has_git()) GTEST_SKIP() << "no git";
  GitRepository repository;
  repository.write("train.py", "one\n");
  repository.commit();
  auto code = *read_code_state(repository.system, repository.path());
  EXPECT_EQ(read_code_diff(repository.system, code), "");
  repository.write("train.py", "two\n");
  const auto diff = read_code_diff(repository.system, code);
  EXPECT_THAT(diff, HasSubstr("-one\n+two\n"));
  EXPECT_EQ(code.diff_bytes, static_cast<std::int64_t>(diff.size()));
  EXPECT_EQ(code.diff_note, "");
  std::string large;
  for (int i = 0; i < 200'000; ++i) large += "0123456789\n";
  repository.write("train.py", large);
  const auto cut = read_code_diff(repository.system, code);
  EXPECT_LE(cut.size(), most_diff_bytes);
  EXPECT_GT(cut.size(), most_diff_bytes - 100);
  EXPECT_TRUE(cut.ends_with("+0123456789\n"));
  EXPECT_THAT(code.diff_note, HasSubstr("cut: it has 2400"));
  code.folder = "/nowhere";
  EXPECT_EQ(read_code_diff(repository.system, code), "");
  EXPECT_THAT(code.diff_note, HasSubstr("git: "));
}

/// A repository's own settings start no program.
TEST(CodeState, StartsNothingThatARepositoryNames) {
  if (!has_git()) GTEST_SKIP() << "no git";
  GitRepository repository;
  repository.write("train.py", "one\n");
  repository.write(".gitattributes", "*.py diff=evil\n");
  repository.commit();
  const auto mark = repository.path() + "/started";
  for (const char* key :
       {"core.fsmonitor", "diff.external", "diff.evil.command", "diff.evil.textconv", "core.pager"})
    repository.git({"config", key, "touch '" + mark + "'; false"});
  repository.write("train.py", "two\n");
  auto code = read_code_state(repository.system, repository.path());
  ASSERT_TRUE(code);
  EXPECT_THAT(read_code_diff(repository.system, *code), HasSubstr("+two"));
  EXPECT_FALSE(std::filesystem::exists(mark));
}

}  // namespace
}  // namespace dllaunch

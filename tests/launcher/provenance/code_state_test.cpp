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
  repository.write(".gitattributes", "*.py diff=evil filter=evil\n*.txt filter=Other\n");
  repository.write("a.txt", "one\n");
  repository.commit();
  const auto mark = repository.path() + "/started";
  for (const char* key :
       {"core.fsmonitor", "diff.external", "diff.evil.command", "diff.evil.textconv", "core.pager",
        "filter.evil.clean", "filter.Other.process"})
    repository.git({"config", key, "touch '" + mark + "'; false"});
  for (const char* key : {"filter.evil.required", "filter.Other.required"})
    repository.git({"config", key, "true"});
  const auto hooks = repository.path() + "/.git/hooks";
  std::filesystem::create_directories(hooks);
  std::ofstream(hooks + "/post-index-change") << "#!/bin/sh\ntouch '" << mark << "'\n";
  std::filesystem::permissions(hooks + "/post-index-change", std::filesystem::perms::owner_all);
  repository.write("train.py", "two\n");
  repository.write("a.txt", "two\n");
  auto code = read_code_state(repository.system, repository.path());
  ASSERT_TRUE(code);
  EXPECT_EQ(code->dirty, true);
  EXPECT_THAT(read_code_diff(repository.system, *code), HasSubstr("+two"));
  EXPECT_FALSE(std::filesystem::exists(mark));
  repository.git({"config", "filter.a=b.clean", "touch '" + mark + "'"});
  const auto unknown = read_code_state(repository.system, repository.path());
  EXPECT_EQ(unknown->revision, code->revision);
  EXPECT_EQ(unknown->dirty, std::nullopt);
  EXPECT_EQ(unknown->why, "git would start filters of the repository");
  EXPECT_EQ(read_code_diff(repository.system, *code), "");
  EXPECT_EQ(code->diff_note, "git would start filters of the repository");
  EXPECT_FALSE(std::filesystem::exists(mark));
}

/// Of a submodule, and of what a partial clone lacks.
TEST(CodeState, StartsNothingThatASubmoduleOrAPartialCloneNames) {
  if (!has_git()) GTEST_SKIP() << "no git";
  GitRepository part;
  part.write("part.py", "one\n");
  part.write(".gitattributes", "*.py filter=evil\n");
  part.commit();
  GitRepository repository;
  repository.git(
      {"-c", "protocol.file.allow=always", "submodule", "add", "-q", part.path(), "part"});
  repository.write("train.py", "one\n");
  repository.commit();
  const auto mark = repository.path() + "/started";
  const auto program = "touch '" + mark + "'; false";
  repository.git({"-C", "part", "config", "filter.evil.clean", program});
  repository.write("part/part.py", "two\n");
  auto code = read_code_state(repository.system, repository.path());
  ASSERT_TRUE(code);
  EXPECT_EQ(code->dirty, false) << "what is changed in it is not looked at";
  read_code_diff(repository.system, *code);
  EXPECT_FALSE(std::filesystem::exists(mark));

  for (const auto& [key, value] :
       {std::pair<std::string, std::string>{"core.repositoryformatversion", "1"},
        {"extensions.partialClone", "origin"},
        {"remote.origin.promisor", "true"},
        {"remote.origin.url", "ext::sh -c \"" + program + "\""},
        {"protocol.ext.allow", "always"}})
    repository.git({"config", key, value});
  const auto object = repository.git({"rev-parse", "HEAD:train.py"});
  std::filesystem::remove(repository.path() + "/.git/objects/" + object.substr(0, 2) + "/" +
                          object.substr(2, object.size() - 3));
  repository.write("train.py", "two\n");
  code = read_code_state(repository.system, repository.path());
  ASSERT_TRUE(code);
  EXPECT_EQ(code->dirty, true);
  EXPECT_EQ(read_code_diff(repository.system, *code), "");
  EXPECT_THAT(code->diff_note, HasSubstr("git: "));
  EXPECT_FALSE(std::filesystem::exists(mark));
}

}  // namespace
}  // namespace dllaunch

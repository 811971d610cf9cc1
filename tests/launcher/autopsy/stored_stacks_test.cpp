#include "launcher/autopsy/stored_stacks.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>

#include "launcher/autopsy/python_stacks.hpp"
#include "tests/launcher/autopsy/sample_stacks.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

StackReport hung_report() {
  return merge_stacks(on_two_nodes(
      {program_of(0, in_all_reduce()), program_of(1, in_all_reduce()), program_of(2, in_code())}));
}

TEST(StoredStacks, AreTheNewest) {
  const TemporaryFolder run;
  EXPECT_FALSE(newest_stacks(run.path()));
  ASSERT_TRUE(
      keep_stacks(run.path(), merge_stacks({}), StacksKind::stall, "before", 1'795'000'000));
  const auto name = keep_stacks(run.path(), hung_report(), StacksKind::time_limit,
                                "no progress for 30 s", 1'795'766'400);
  ASSERT_TRUE(name);
  EXPECT_EQ(*name, "20261127-080000");
  const auto kept = newest_stacks(run.path());
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->name, *name);
  EXPECT_EQ(kept->time_s, 1'795'766'400);
  EXPECT_EQ(kept->kind, StacksKind::time_limit);
  EXPECT_EQ(kept->why, "no progress for 30 s");
  EXPECT_EQ(kept->sentence, stack_sentence(hung_report()));
  EXPECT_TRUE(kept->text.ends_with(render_stacks(hung_report()))) << kept->text;
}

TEST(StoredStacks, OfAnEarlierReadingAreFoundToo) {
  const TemporaryFolder run;
  const std::pair<StacksKind, double> kept[] = {{StacksKind::stall, 1'795'766'400},
                                                {StacksKind::hang, 1'795'766'410},
                                                {StacksKind::time_limit, 1'795'766'420}};
  for (const auto& [kind, time_s] : kept)
    ASSERT_TRUE(keep_stacks(run.path(), hung_report(), kind, "x", time_s));
  std::ofstream(run.path() + "/autopsy/20261127-080030.json") << "torn";
  const auto name = [&run](const std::function<bool(const StoredStacks&)>& wanted) {
    const auto stacks = newest_stacks(run.path(), wanted);
    return stacks ? stacks->name : "none";
  };
  EXPECT_EQ(name({}), "20261127-080020");
  EXPECT_EQ(name([](const auto& one) { return is_of_hang(one.kind); }), "20261127-080010");
  EXPECT_EQ(name([](const auto& one) { return one.time_s < 1'795'766'405; }), "20261127-080000");
  EXPECT_EQ(name([](const auto& one) { return one.kind == StacksKind::silence; }), "none");
}

TEST(StoredStacks, AreAtMostTwenty) {
  const TemporaryFolder run;
  for (int i = 0; i < 25; ++i) {
    ASSERT_TRUE(
        keep_stacks(run.path(), hung_report(), StacksKind::hang, "x", 1'795'766'400 + 60 * i));
  }
  int files = 0;
  for (const auto& entry : fs::directory_iterator(run.path() + "/autopsy"))
    files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 40);
  EXPECT_EQ(newest_stacks(run.path())->name, "20261127-082400");
}

TEST(StoredStacks, OfADamagedFileAreNone) {
  const TemporaryFolder run;
  fs::create_directories(run.path() + "/autopsy");
  for (const char* text : {"", "[]", "{\"time\": \"x\"", "7"}) {
    std::ofstream(run.path() + "/autopsy/1.json") << text;
    std::ofstream(run.path() + "/autopsy/1.txt") << text;
    EXPECT_FALSE(newest_stacks(run.path())) << text;
  }
}

/// What a link leads to would stand in a page that is passed on.
TEST(StoredStacks, BehindALinkOrAPipeAreNone) {
  const TemporaryFolder run;
  const TemporaryFolder other;
  ASSERT_TRUE(keep_stacks(other.path(), hung_report(), StacksKind::hang, "x", 1'795'766'400));
  const auto name = "/autopsy/20261127-080000";
  fs::create_directories(run.path() + "/autopsy");
  for (const auto* end : {".json", ".txt"}) {
    fs::copy_file(other.path() + name + ".json", run.path() + name + ".json",
                  fs::copy_options::overwrite_existing);
    fs::copy_file(other.path() + name + ".txt", run.path() + name + ".txt",
                  fs::copy_options::overwrite_existing);
    EXPECT_TRUE(newest_stacks(run.path()));
    fs::remove(run.path() + name + end);
    fs::create_symlink(other.path() + name + end, run.path() + name + end);
    EXPECT_FALSE(newest_stacks(run.path())) << end;
    fs::remove(run.path() + name + end);
    ASSERT_EQ(mkfifo((run.path() + name + end).c_str(), 0600), 0);
    EXPECT_FALSE(newest_stacks(run.path())) << end;
    fs::remove(run.path() + name + end);
  }
  fs::remove_all(run.path() + "/autopsy");
  fs::create_directory_symlink(other.path() + "/autopsy", run.path() + "/autopsy");
  EXPECT_FALSE(newest_stacks(run.path()));
}

TEST(StoredStacks, PythonIsPreparedUnlessTheJobSaysNo) {
  const TemporaryFolder run;
  const std::string file = python_start_folder(run.path()) + "/sitecustomize.py";
  ASSERT_TRUE(prepare_autopsy(run.path(), true));
  EXPECT_EQ(fs::file_size(file), python_start_file().size());
  ASSERT_TRUE(prepare_autopsy(run.path(), true));
  ASSERT_TRUE(prepare_autopsy(run.path(), false));
  EXPECT_FALSE(fs::exists(file));
  EXPECT_TRUE(prepare_autopsy(run.path(), false));
}

/// Python executes what is in it.
TEST(StoredStacks, PythonsFolderIsClosedToOthersWhateverTheUmask) {
  const TemporaryFolder run;
  const auto mode_of = [&run](const std::string& name) {
    return fs::status(run.path() + "/autopsy" + name).permissions();
  };
  const auto before = umask(0);
  const auto made = prepare_autopsy(run.path(), true);
  umask(before);
  ASSERT_TRUE(made) << made.error().what;
  for (const char* name : {"", "/python"}) EXPECT_EQ(mode_of(name), fs::perms::owner_all) << name;
  EXPECT_EQ(mode_of("/python/sitecustomize.py"), fs::perms::owner_read | fs::perms::owner_write);
  // As an earlier version left them.
  for (const char* name : {"", "/python"})
    fs::permissions(run.path() + "/autopsy" + name, fs::perms::all);
  ASSERT_TRUE(prepare_autopsy(run.path(), true));
  for (const char* name : {"", "/python"}) EXPECT_EQ(mode_of(name), fs::perms::owner_all) << name;
}

TEST(StoredStacks, PythonsFolderIsNeverALink) {
  const TemporaryFolder run;
  const TemporaryFolder other;
  fs::create_directory_symlink(other.path(), run.path() + "/autopsy");
  EXPECT_FALSE(prepare_autopsy(run.path(), true));
  EXPECT_TRUE(fs::is_empty(other.path()));
}

TEST(StoredStacks, AStandstillIsOneOfTheOddRank) {
  StackReport report = hung_report();
  EXPECT_TRUE(is_standstill(report));
  const auto busy = [](StackReport& in, int rank) {
    for (auto& node : in.nodes)
      for (auto& process : node.processes)
        if (process.rank == rank) process.busy = 0.9;
  };
  busy(report, 0);
  EXPECT_TRUE(is_standstill(report));  // it spins while it waits
  busy(report, 2);
  EXPECT_FALSE(is_standstill(report));
  EXPECT_FALSE(is_standstill(merge_stacks({})));
}

}  // namespace
}  // namespace dllaunch

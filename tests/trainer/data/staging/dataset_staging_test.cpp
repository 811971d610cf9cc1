#include "trainer/data/staging/dataset_staging.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <thread>
#include <vector>

#include "tests/trainer/data/datasets/cifar_bytes.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
namespace fs = std::filesystem;

class Staging : public testing::Test {
 protected:
  Staging() {
    write_text(from() / "train/a/1.jpg", std::string(100'000, 'a'));
    write_text(from() / "train/b/2.jpg", "two");
    write_text(from() / "val/empty", "");
    fs::create_directories(from() / "train/no-images");
  }

  fs::path from() const { return folder_ / "origin"; }
  fs::path to() const { return folder_ / "node"; }

  Result<StagedCopy> stage() {
    return stage_dataset({.from = from(),
                          .to = to(),
                          .patience = std::chrono::seconds(1),
                          .say = [this](std::string_view line) { said_.emplace_back(line); }});
  }

  /// Returns everything in the local folder, including hidden names.
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(to())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  ScratchFolder folder_;
  std::vector<std::string> said_;
};

TEST_F(Staging, CopiesOnceAndReusesTheCopy) {
  auto first = stage();
  ASSERT_TRUE(first) << first.error().what;
  const fs::path copy = first->path;
  EXPECT_EQ(copy.parent_path(), to());
  EXPECT_EQ(read_text(copy / "train/a/1.jpg"), std::string(100'000, 'a'));
  EXPECT_EQ(read_text(copy / "train/b/2.jpg"), "two");
  EXPECT_TRUE(fs::exists(copy / "val/empty"));
  EXPECT_TRUE(fs::is_directory(copy / "train/no-images"));
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_THAT(said_[0], testing::ContainsRegex("^staged 0.0 GB in [0-9]+ s \\("));
  EXPECT_THAT(said_[0], HasSubstr(" to " + to().string()));
  auto second = stage();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->path, copy);
  EXPECT_EQ(said_.size(), 1u);
}

TEST_F(Staging, CopiesAgainAfterAChange) {
  const auto staged = [this] {
    auto copy = stage();  // released at the end of this scope
    EXPECT_TRUE(copy) << copy.error().what;
    return copy ? copy->path : "";
  };
  staged();
  write_text(from() / "train/b/2.jpg", "TWO");  // same size, other time
  fs::path copy = staged();
  EXPECT_EQ(read_text(copy / "train/b/2.jpg"), "TWO");
  fs::remove(copy / "train/a/1.jpg");  // another program has cleaned up
  copy = staged();
  EXPECT_TRUE(fs::exists(copy / "train/a/1.jpg"));
  fs::remove(from() / "train/b/2.jpg");
  copy = staged();
  EXPECT_FALSE(fs::exists(copy / "train/b/2.jpg"));
  EXPECT_EQ(said_.size(), 4u);
  EXPECT_EQ(left().size(), 2u);  // the new copy and the lock
}

/// Some file systems store only seconds, and some programs touch files they read.
TEST_F(Staging, TimesInTheCopyDoNotMatter) {
  auto first = stage();
  ASSERT_TRUE(first);
  for (const auto& entry : fs::recursive_directory_iterator(first->path)) {
    fs::last_write_time(entry.path(), fs::file_time_type::clock::now());
  }
  ASSERT_TRUE(stage());
  EXPECT_EQ(said_.size(), 1u);
}

TEST_F(Staging, ACopyInUseStaysWhenTheOriginalChanges) {
  std::optional<StagedCopy> reader = *stage();
  write_text(from() / "train/b/2.jpg", "three");
  auto newer = stage();
  ASSERT_TRUE(newer) << newer.error().what;
  EXPECT_EQ(read_text(newer->path / "train/b/2.jpg"), "three");
  EXPECT_EQ(read_text(reader->path / "train/b/2.jpg"), "two");
  EXPECT_EQ(left().size(), 3u);
  reader.reset();
  write_text(from() / "train/b/2.jpg", "four");
  ASSERT_TRUE(stage());
  EXPECT_EQ(left().size(), 3u);  // the copy of "two" was removed
}

TEST_F(Staging, ADamagedCopyInUseIsNotTouched) {
  auto reader = stage();
  ASSERT_TRUE(reader);
  fs::remove(reader->path / "train/a/1.jpg");
  auto other = stage();
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(other.error().what, HasSubstr("which another job reads"));
  EXPECT_EQ(read_text(reader->path / "train/b/2.jpg"), "two");
}

/// Others can write to /tmp too.
TEST_F(Staging, FollowsNoLinkOfAnotherUser) {
  auto path = stage()->path;
  fs::rename(path, folder_ / "elsewhere");
  fs::create_directory_symlink(folder_ / "elsewhere", path);
  auto staged = stage();
  ASSERT_FALSE(staged);
  EXPECT_THAT(staged.error().hint, HasSubstr("a folder of your own in dataset.stage_to"));
  fs::remove(path);
  for (const auto& name : left()) {
    fs::remove(to() / name);
    fs::create_symlink(folder_ / "mine", to() / name);
  }
  staged = stage();
  ASSERT_FALSE(staged);
  EXPECT_THAT(staged.error().what, HasSubstr("cannot open " + to().string()));
  EXPECT_FALSE(fs::exists(folder_ / "mine"));
}

TEST_F(Staging, EveryUserHasTheirOwnCopy) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to switch users";
  auto mine = stage();
  ASSERT_TRUE(mine);
  for (const auto& folder : {folder_.path(), to()}) {
    fs::permissions(folder, fs::perms::all | fs::perms::sticky_bit);
  }
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(65534) != 0) _exit(3);
    auto theirs = stage();
    if (!theirs) _exit(2);
    _exit(theirs->path != mine->path && fs::exists(theirs->path / "train/b/2.jpg") ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(Staging, ReportsShareRateAndTimeLeft) {
  write_text(from() / "large", std::string(40'000'000, 'x'));
  auto copy = stage_dataset({.from = from(),
                             .to = to(),
                             .say = [this](std::string_view line) { said_.emplace_back(line); },
                             .told_every = std::chrono::milliseconds(0)});
  ASSERT_TRUE(copy) << copy.error().what;
  EXPECT_THAT(said_,
              Contains(testing::ContainsRegex(
                  "^staged 0.0 of 0.0 GB \\(4[0-9] %\\) at [0-9.]+ GB/s, [0-9]+ s left, to ")));
}

TEST_F(Staging, FoldersOfTheSameNameHaveSeparateCopies) {
  write_text(folder_ / "other/origin/file", "other");
  auto first = stage();
  auto other = stage_dataset({.from = folder_ / "other/origin", .to = to()});
  ASSERT_TRUE(first && other);
  EXPECT_NE(first->path, other->path);
  EXPECT_EQ(read_text(other->path / "file"), "other");
}

TEST_F(Staging, OneOfManyProcessesCopies) {
  write_text(from() / "large", std::string(30'000'000, 'x'));
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      auto staged = stage();
      const bool good = staged && fs::file_size(staged->path / "large") == 30'000'000;
      _exit(!good ? 9 : static_cast<int>(said_.size()));
    }
    children.push_back(child);
  }
  int copies = 0;
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) <= 1) << status;
    copies += WEXITSTATUS(status);
  }
  EXPECT_EQ(copies, 1);
}

TEST_F(Staging, AnotherProcessContinuesAfterAKilledOne) {
  write_text(from() / "large", std::string(200'000'000, 'x'));
  const pid_t child = fork();
  if (child == 0) _exit(stage() ? 0 : 1);
  const auto has_partial = [&] {
    std::error_code ignored;
    if (!fs::exists(to(), ignored)) return false;
    const auto names = left();
    return std::any_of(names.begin(), names.end(),
                       [](const std::string& name) { return name.ends_with(".partial"); });
  };
  for (int i = 0; i < 5000 && !has_partial(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  auto copy = stage();
  ASSERT_TRUE(copy) << copy.error().what;
  EXPECT_EQ(fs::file_size(copy->path / "large"), 200'000'000u);
  EXPECT_EQ(left().size(), 2u);  // the copy and its lock
}

TEST_F(Staging, TimesOutIfTheCopyingProcessMakesNoProgress) {
  auto copy = stage();
  ASSERT_TRUE(copy);
  const auto names = left();
  const auto lock = std::find_if(names.begin(), names.end(),
                                 [](const auto& name) { return name.ends_with(".lock"); });
  ASSERT_NE(lock, names.end());
  FILE* held = std::fopen((to() / *lock).c_str(), "r+");
  ASSERT_EQ(flock(fileno(held), LOCK_EX), 0);
  auto waited = stage();
  std::fclose(held);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().kind, ErrorKind::timeout);
  EXPECT_THAT(waited.error().what, HasSubstr("made no progress for 1 s"));
  EXPECT_TRUE(stage());
}

std::ptrdiff_t times_open(const fs::path& file) {
  return std::ranges::count_if(fs::directory_iterator("/proc/self/fd"), [&](const auto& entry) {
    std::error_code closed;
    return fs::read_symlink(entry.path(), closed) == file;
  });
}

TEST_F(Staging, WaitingProcessesGetTheCopyingOnesError) {
  ASSERT_TRUE(stage());
  const auto names = left();
  const auto lock = std::find_if(names.begin(), names.end(),
                                 [](const auto& name) { return name.ends_with(".lock"); });
  std::FILE* held = std::fopen((to() / *lock).c_str(), "w");
  ASSERT_EQ(flock(fileno(held), LOCK_EX), 0);
  const auto file = to() / *lock;
  std::thread copier([held, file] {
    // Both have it open now: the other one finds it locked.
    for (int i = 0; i < 6000 && times_open(file) < 2; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::fputs("failed 1\nno room\nask for less", held);
    std::fclose(held);
  });
  auto waited = stage();
  copier.join();
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().kind, ErrorKind::unsatisfiable);
  EXPECT_EQ(waited.error().what, "no room");
  EXPECT_EQ(waited.error().hint, "ask for less");
}

TEST_F(Staging, ReportsTooLittleSpaceBeforeCopying) {
  std::error_code failed;
  const auto available = fs::space(folder_.path()).available;
  write_text(from() / "hole", "");
  fs::resize_file(from() / "hole", available + (std::uintmax_t{1} << 30), failed);
  if (failed) GTEST_SKIP() << "no sparse file of that size here: " << failed.message();
  auto copy = stage();
  ASSERT_FALSE(copy);
  EXPECT_EQ(copy.error().kind, ErrorKind::unsatisfiable);
  EXPECT_THAT(copy.error().what, HasSubstr("GB free"));
  EXPECT_EQ(left().size(), 1u);  // the lock
}

/// The space of an older copy is available for the new one.
TEST_F(Staging, RemovesAnOlderCopyBeforeCheckingTheSpace) {
  ASSERT_TRUE(stage());
  const auto available = fs::space(folder_.path()).available;
  std::error_code failed;
  write_text(from() / "hole", "");
  fs::resize_file(from() / "hole", available + (std::uintmax_t{1} << 30), failed);
  if (failed) GTEST_SKIP() << "no sparse file of that size here: " << failed.message();
  EXPECT_FALSE(stage());
  EXPECT_EQ(left().size(), 1u);  // the lock
}

/// A limit on file size stands for a disk that fills up during the copy.
TEST_F(Staging, LeavesNothingBehindIfTheStorageFillsUp) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit small{.rlim_cur = 50'000, .rlim_max = 50'000};
    if (setrlimit(RLIMIT_FSIZE, &small) != 0) _exit(2);
    auto copy = stage();
    _exit(!copy && copy.error().kind == ErrorKind::unsatisfiable ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(left().size(), 1u);
  EXPECT_TRUE(stage());
}

TEST_F(Staging, TrainingReadsTheCopyOrContinuesWithoutOne) {
  write_small_cifar10(folder_ / "cifar");
  TrainConfig config = small_config("reference");
  config.dataset = "cifar10";
  config.data = {};
  config.data.path = (folder_ / "cifar").string();
  config.stage_to = to().string();
  std::size_t held = 0;
  auto trained = train_alone(config, folder_ / "a", 0, [&] {
    for (const auto& name : left()) {
      const FileDescriptor file(open((to() / name).c_str(), O_RDONLY));
      if (!name.starts_with('.') && flock(file.get(), LOCK_EX | LOCK_NB) != 0) ++held;
    }
  });
  ASSERT_TRUE(trained) << trained.error().what;
  EXPECT_EQ(trained->report.status, TrainStatus::completed);
  EXPECT_EQ(held, trained->losses.size());  // in every step
  ASSERT_EQ(left().size(), 2u);
  write_text(folder_ / "file", "no folder");
  config.stage_to = (folder_ / "file").string();
  auto refused = train_alone(config, folder_ / "b");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("dataset.stage_to: cannot make"));
  config.stage_or_stop = false;
  auto in_place = train_alone(config, folder_ / "c");
  ASSERT_TRUE(in_place) << in_place.error().what;
  EXPECT_THAT(in_place->said, Contains(HasSubstr("cifar is read in place")));
}

}  // namespace
}  // namespace dllaunch

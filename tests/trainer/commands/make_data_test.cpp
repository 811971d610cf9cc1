#include "trainer/commands/make_data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/trainer/scratch_folder.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

MakeData small_set(const std::filesystem::path& folder) {
  return *parse_make_data({folder.string(), "50", "9", "4", "3"});
}

TEST(MakeData, WritesWhatNpyReads) {
  const ScratchFolder folder;
  std::vector<std::string> said;
  const MakeData what = small_set(folder / "made");
  auto made = make_data(what, [&](std::string_view line) { said.emplace_back(line); });
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(*made, "dataset: {kind: npy, path: " + (folder / "made").string() + ", classes: 4}");
  EXPECT_TRUE(said.empty());  // only longer runs report progress
  DatasetOptions options;
  options.path = (folder / "made").string();
  options.classes = 4;
  auto read = find_dataset("npy")->open(options);
  ASSERT_TRUE(read) << read.error().what;
  auto synthetic = *find_dataset("synthetic")->open(what.options);
  for (const Split split : {Split::train, Split::validation}) {
    ASSERT_EQ((*read)->size(split), synthetic->size(split));
    std::vector<std::uint8_t> a(synthetic->pixels());
    std::vector<std::uint8_t> b((*read)->pixels());
    for (std::int64_t i = 0; i < synthetic->size(split); ++i) {
      EXPECT_EQ(*synthetic->read(split, i, a), *(*read)->read(split, i, b));
      EXPECT_EQ(a, b);
    }
  }
  auto again = make_data(what, [](std::string_view) {});
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().what, HasSubstr("train_images.npy exists already"));
}

TEST(MakeData, LeavesNothingOnAFullDisk) {
  const ScratchFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit small{.rlim_cur = 5'000, .rlim_max = 5'000};
    if (setrlimit(RLIMIT_FSIZE, &small) != 0) _exit(2);
    auto made = make_data(small_set(folder / "made"), [](std::string_view) {});
    _exit(!made && made.error().what.find("train_images.npy") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder / "made"));
}

TEST(MakeData, NamesTheInvalidArgument) {
  const auto what = [](const std::vector<std::string>& words) {
    auto parsed = parse_make_data(words);
    return parsed ? "" : parsed.error().what;
  };
  EXPECT_EQ(what({"/a", "5000000000", "9", "4", "3"}), "");
  EXPECT_TRUE(parse_make_data({"/a", "5", "9", "4", "3", "quiet"})->quiet);
  EXPECT_THAT(what({"/a", "5", "9", "4", "3", "loud"}), HasSubstr("expected FOLDER"));
  EXPECT_THAT(what({"/a", "5"}), HasSubstr("expected FOLDER IMAGES SIZE"));
  EXPECT_THAT(what({"/a", "5", "0", "4", "3"}), HasSubstr("SIZE must be a number from 1 to"));
  EXPECT_THAT(what({"/a", "5x", "9", "4", "3"}), HasSubstr("IMAGES must be a number"));
  EXPECT_THAT(what({"/a", "5", "9", "99999999999999999999", "3"}), HasSubstr("CLASSES must be"));
}

}  // namespace
}  // namespace dllaunch

#include "trainer/tuning/batch_size.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "runtime/communicators/opening/communicators.hpp"
#include "tests/support/emulator.hpp"
#include "tests/trainer/address_space.hpp"
#include "tests/trainer/data/datasets/npy_bytes.hpp"
#include "tests/trainer/training/small_training.hpp"
#include "trainer/training/prepare.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr std::int64_t mib = 1024 * 1024;

class FindBatchSize : public testing::Test {
 protected:
  FindBatchSize() {
    auto opened = open_communicator("solo", RankEnv{});
    communicator_ = *std::move(opened);
    TrainConfig config = small_config("auto");
    config.data.images = 5000;
    auto prepared =
        prepare({.config = config, .run_dir = folder_.path(), .threads = 1}, *communicator_);
    session_ = *std::move(prepared);
  }

  Result<int> find(std::int64_t budget, double longest_step_s = 20) {
    said_.clear();
    PrepareOptions options;
    options.say = [&](std::string_view line) { said_.emplace_back(line); };
    options.stop_requested = [&] { return stop_; };
    auto found = find_batch_size(session_, {.budget = budget, .longest_step_s = longest_step_s},
                                 *communicator_, options);
    if (!found) return std::move(found).error();
    return found->value_or(0);
  }

  ScratchFolder folder_;
  std::unique_ptr<Communicator> communicator_;
  Session session_;
  std::vector<std::string> said_;
  bool stop_ = false;
};

TEST_F(FindBatchSize, EndsOnRequest) {
  stop_ = true;
  EXPECT_EQ(*find(24 * mib), 0);
  EXPECT_TRUE(said_.empty());
}

TEST_F(FindBatchSize, IsTheLargestThatFitsAndNoMore) {
  if (under_an_emulator()) GTEST_SKIP() << "an emulator needs memory and time of its own";
  if (!memory_may_be_limited()) GTEST_SKIP() << "a sanitizer needs memory of its own";
  const auto small = find(24 * mib);
  ASSERT_TRUE(small);
  const auto large = find(96 * mib);
  ASSERT_TRUE(large);
  EXPECT_GT(*large, *small);
  EXPECT_LT(*large, 4096);
  EXPECT_EQ(*large & (*large - 1), 0) << *large;
  EXPECT_THAT(said_.front(), HasSubstr("96 MiB per rank"));
  EXPECT_THAT(
      said_, Contains(HasSubstr(fmt::format("batch_size {}: {} would take ", *large, 2 * *large))));
}

TEST_F(FindBatchSize, AnEpochIsAtLeastAStep) {
  if (under_an_emulator()) GTEST_SKIP() << "an emulator needs memory and time of its own";
  session_.shape.accumulate = 10;
  EXPECT_EQ(*find(8192 * mib), 256);  // of 500 images
  EXPECT_THAT(said_, Contains(HasSubstr("an epoch has no more images")));
}

TEST_F(FindBatchSize, AStepStaysShort) {
  EXPECT_EQ(*find(8192 * mib, /*longest_step_s=*/1e-9), 1);
  EXPECT_THAT(said_, Contains(HasSubstr("a step of 2 would take")));
}

TEST_F(FindBatchSize, ReportsThatNotEvenOneImageFits) {
  const auto found = find(1024);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::unsatisfiable);
  EXPECT_THAT(found.error().what, HasSubstr("not even one image fits"));
  EXPECT_THAT(found.error().hint, HasSubstr("ask for more memory"));
}

/// A worker reads images of 30 MB to shrink them, with 20 MiB available.
TEST(FindBatchSizeInAChild, AFailedAllocationOfALoaderThreadMeansItDoesNotFit) {
  if (under_an_emulator()) GTEST_SKIP() << "an emulator needs memory and time of its own";
  if (!memory_may_be_limited()) GTEST_SKIP() << "a sanitizer maps memory itself";
  const ScratchFolder folder;
  for (const std::string part : {"train", "val"}) {
    const auto images = folder / (part + "_images.npy");
    write_text(images, npy_bytes(npy_header_text("|u1", "(4, 5500, 5500, 1)"), ""));
    std::filesystem::resize_file(images, std::filesystem::file_size(images) + 4 * 5500 * 5500);
    write_text(folder / (part + "_labels.npy"),
               npy_bytes(npy_header_text("|u1", "(4,)"), std::string(4, '\0')));
  }
  const pid_t child = fork();
  if (child == 0) {
    TrainConfig config = small_config("reference");
    config.dataset = "npy";
    config.data = {.path = folder.path().string(), .classes = 10, .image_size = 28};
    auto alone = open_communicator("solo", RankEnv{});
    PrepareOptions options{.config = config, .run_dir = folder.path(), .threads = 1};
    auto session = prepare(options, **alone);
    if (!session) _exit(2);
    std::ifstream statm("/proc/self/statm");
    std::int64_t pages[6] = {};
    for (auto& field : pages) statm >> field;
    constexpr std::int64_t left = 20 * mib;  // 8 of them for the thread's stack
    const auto most = static_cast<rlim_t>(pages[5] * sysconf(_SC_PAGESIZE) + left);
    const rlimit limit{most, most};
    if (setrlimit(RLIMIT_DATA, &limit) != 0) _exit(3);
    auto found = find_batch_size(*session, {.budget = 1000 * mib}, **alone, options);
    if (found) _exit(4);
    const bool told = found.error().kind == ErrorKind::unsatisfiable &&
                      found.error().what.find("1 were refused memory") != std::string::npos;
    if (!told) std::fputs((found.error().what + "\n").c_str(), stderr);
    _exit(told ? 0 : 5);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(PredictBytes, ExtrapolatesTheLastTwoTrials) {
  EXPECT_EQ(predict_bytes({{.images = 1, .bytes = 10}}, 2), std::nullopt);
  EXPECT_EQ(predict_bytes({{.images = 1, .bytes = 10}, {.images = 2, .bytes = 14}}, 4), 22);
  // A decrease, due to reused memory, is not extrapolated.
  EXPECT_EQ(predict_bytes({{.images = 1, .bytes = 14}, {.images = 2, .bytes = 10}}, 4), 10);
}

TEST(BatchTable, SaysWhenASmallerOneIsAsFast) {
  const std::vector<BatchTrial> trials{{1, 10 * mib, 100}, {2, 12 * mib, 198}, {4, 16 * mib, 200}};
  const auto lines = batch_table(trials, 20 * mib, 4, "8 would take 24 MiB");
  EXPECT_EQ(lines.back(), "batch_size 2 is as fast within 5 %");
  EXPECT_EQ(lines[lines.size() - 2], "batch_size 4: 8 would take 24 MiB");
  EXPECT_EQ(lines.size(), 2u + 3u + 2u);
}

}  // namespace
}  // namespace dllaunch

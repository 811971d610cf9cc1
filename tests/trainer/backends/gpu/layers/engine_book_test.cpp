#include "trainer/backends/gpu/layers/engine_book.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/rank/measured.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch::gpu {
namespace {

using testing::ElementsAre;

constexpr Pass forward = Pass::forward;
ConvolutionShape shape_of(std::int64_t images) {
  return {.type = DType::bf16,
          .x = {images, 1, 8, 8, 3},
          .y = {images, 1, 8, 8, 4},
          .window = {{1, 3, 3}, {1, 1, 1}, {0, 1, 1}}};
}
const ConvolutionShape shape = shape_of(8);

class Books : public testing::Test {
 protected:
  EngineBook open(const std::string& machine = "An H100,driver13000,cudnn91900-13000") const {
    return EngineBook(file, machine);
  }
  TemporaryFolder folder;
  std::filesystem::path file = folder.path() + "/convolutions";
};

TEST_F(Books, KeepAnEngineWithItsKnobsForTheSameMachineOnly) {
  EngineBook book = open();
  EXPECT_FALSE(book.find(shape, forward));
  book.choose(shape, forward, {37, 3, 128, 5, -1}, /*tried=*/true);
  book.choose(shape, Pass::backward_data, {4}, /*tried=*/false);
  book.save();
  EXPECT_EQ(open().find(shape, forward), (EngineId{37, 3, 128, 5, -1}));
  EXPECT_FALSE(open().find(shape, Pass::backward_weights));
  EXPECT_FALSE(open().find(shape_of(9), forward));
  EXPECT_FALSE(open().find(shape, Pass::backward_data)) << "it never ran";
  for (const char* other :
       {"An H100,driver13010,cudnn91900-13000", "An H100,driver13000,cudnn91900",
        "H100,driver13000,cudnn91900-13000", ""}) {
    EXPECT_FALSE(open(other).find(shape, forward)) << other;
  }
}

TEST_F(Books, WriteNothingUntilThereIsSomethingNew) {
  EngineBook book = open();
  book.save();
  EXPECT_FALSE(std::filesystem::exists(file));
  book.choose(shape, forward, {1}, /*tried=*/true);
  EXPECT_FALSE(std::filesystem::exists(file));
  book.save();
  EXPECT_TRUE(std::filesystem::remove(file));
  book.save();
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(Books, UseOfWhatIsStoredIsNothingNew) {
  EngineBook first = open();
  first.choose(shape, forward, {1}, /*tried=*/true);
  first.save();
  EngineBook second = open();
  second.choose(shape, forward, *second.find(shape, forward), /*tried=*/true);
  std::filesystem::remove(file);
  second.save();
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(Books, ADamagedFileIsIgnoredAndReplaced) {
  std::ofstream(file) << "An_H100,driver13000,cudnn91900-13000," << text_of(shape, forward)
                      << " 3x .\n\xff\xff\x01\n";
  EngineBook book = open();
  EXPECT_FALSE(book.find(shape, forward));
  book.choose(shape, forward, {2}, /*tried=*/true);
  book.save();
  EXPECT_EQ(recall_all(file).size(), 1U);
  EXPECT_EQ(open().find(shape, forward), EngineId{2});
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  EXPECT_FALSE(std::getline(in, line)) << "damaged lines stay: " << line;
}

TEST_F(Books, FollowRankZeroBeforeTheirOwnFile) {
  EngineBook own = open();
  own.choose(shape, forward, {1}, /*tried=*/true);
  own.save();
  EngineBook rank_0 = open("another GPU");
  rank_0.choose(shape, forward, {2, 7, 7}, /*tried=*/true);
  rank_0.choose(shape, Pass::backward_data, {3}, /*tried=*/false);
  EngineBook other = open();
  other.follow(rank_0.text() + "junk\n" + text_of(shape, Pass::backward_weights) + " .\n");
  EXPECT_EQ(other.find(shape, forward), (EngineId{2, 7, 7}));
  EXPECT_EQ(other.find(shape, Pass::backward_data), EngineId{3});
  EXPECT_FALSE(other.find(shape, Pass::backward_weights));
}

TEST_F(Books, ForgetWhatFailed) {
  EngineBook book = open();
  book.choose(shape, forward, {1}, /*tried=*/true);
  book.save();
  EngineBook next = open();
  next.forget(shape, forward);
  EXPECT_FALSE(next.find(shape, forward));
  next.choose(shape, forward, {2}, /*tried=*/true);
  next.save();
  EXPECT_EQ(open().find(shape, forward), EngineId{2});
}

TEST_F(Books, KnowTheSameConvolutionOfAnotherBatch) {
  EngineBook book = open();
  book.choose(shape, forward, {41, 1, 2}, /*tried=*/true);
  EXPECT_EQ(book.of_another_batch(shape_of(16), forward), 41);
  EXPECT_FALSE(book.of_another_batch(shape_of(16), Pass::backward_data));
  ConvolutionShape wider = shape_of(16);
  wider.y.channels = 5;
  EXPECT_FALSE(book.of_another_batch(wider, forward));
}

TEST_F(Books, TellOfAllRelaxationsAtOnceAndOnce) {
  std::vector<std::string> told;
  EngineBook book = open();
  book.warn_through([&](std::string_view line) { told.emplace_back(line); });
  book.relaxed(Relaxation::none, shape, forward);
  book.tell_relaxations();
  EXPECT_TRUE(told.empty());
  book.relaxed(Relaxation::unordered, shape, Pass::backward_weights);
  book.relaxed(Relaxation::winograd, shape, forward);
  book.tell_relaxations();
  book.tell_relaxations();
  const std::string rest = ",bf16,x8x3x1x8x8,y8x4x1x8x8,k1x3x3,s1x1x1,p0x1x1";
  EXPECT_THAT(told, ElementsAre("no exact and deterministic engine runs some convolutions on this "
                                "GPU: Winograd (larger rounding errors): forward" +
                                rest + "; nondeterministic sums: weights" + rest));
}

TEST(SharedEngineBook, IsOneForTheProcessAndMachine) {
  const TemporaryFolder folder;
  const auto lookup = [&](const std::string& name) -> std::optional<std::string> {
    if (name == "XDG_CACHE_HOME") return folder.path();
    return std::nullopt;
  };
  const auto book = shared_engine_book(lookup, "one");
  EXPECT_EQ(shared_engine_book(lookup, "one"), book);
  EXPECT_NE(shared_engine_book(lookup, "two"), book);
  book->choose(shape, forward, {5}, /*tried=*/true);
  book->save();
  EXPECT_EQ(
      recall(folder.path() + "/dllaunch/measured/convolutions", "one," + text_of(shape, forward)),
      EngineId{5});
}

}  // namespace
}  // namespace dllaunch::gpu

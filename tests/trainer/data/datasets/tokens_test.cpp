#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/trainer/data/datasets/token_bytes.hpp"
#include "tests/trainer/scratch_folder.hpp"
#include "trainer/data/datasets/dataset.hpp"
#include "trainer/data/loader.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

/// Two training shards of 25 and 18 tokens, 0 .. 42 in all, and 9 tokens for validation.
class Tokens : public testing::Test {
 protected:
  Tokens() {
    write_text(folder_ / "x_train_1.bin", with_token_header(token_ids(25)));
    write_text(folder_ / "x_train_2.bin", token_ids(18, 25));
    write_text(folder_ / "x_val_0.bin", token_ids(9, 90));
    options_.path = folder_.path().string();
    options_.sequence = 4;
    options_.classes = 100;
  }

  std::unique_ptr<Dataset> open() const {
    auto dataset = find_dataset("tokens")->open(options_);
    EXPECT_TRUE(dataset) << dataset.error().what;
    return dataset ? *std::move(dataset) : nullptr;
  }
  std::string error() const {
    auto dataset = find_dataset("tokens")->open(options_);
    return dataset ? "" : dataset.error().what;
  }

  ScratchFolder folder_;
  DatasetOptions options_;
};

TEST_F(Tokens, AreWindowsOfEachShard) {
  const auto dataset = open();
  ASSERT_NE(dataset, nullptr);
  EXPECT_EQ(dataset->tokens(), 4);
  EXPECT_EQ(dataset->classes(), 100);
  EXPECT_EQ(dataset->pixels(), 4u);
  EXPECT_EQ(dataset->size(Split::train), 6 + 4);
  EXPECT_EQ(dataset->size(Split::validation), 2);
  std::vector<float> ids(4);
  std::vector<std::int32_t> next(4);
  const std::vector<float> begins{0, 4, 8, 12, 16, 20, 25, 29, 33, 37};
  for (std::size_t i = 0; i < begins.size(); ++i) {
    ASSERT_TRUE(dataset->read_tokens(Split::train, static_cast<std::int64_t>(i), ids, next));
    for (std::size_t t = 0; t < 4; ++t) {
      EXPECT_EQ(ids[t], begins[i] + static_cast<float>(t)) << i;
      EXPECT_EQ(next[t], static_cast<std::int32_t>(ids[t]) + 1) << i;
    }
  }
  ASSERT_TRUE(dataset->read_tokens(Split::validation, 1, ids, next));
  EXPECT_EQ(ids[0], 94);
  EXPECT_EQ(next[3], 98);
}

TEST_F(Tokens, HaveGptTwosSizesUnlessAsked) {
  options_.sequence.reset();
  options_.classes.reset();
  for (const char* name : {"x_train_1.bin", "x_train_2.bin", "x_val_0.bin"}) {
    write_text(folder_ / name, token_ids(1025));
  }
  const auto dataset = open();
  ASSERT_NE(dataset, nullptr);
  EXPECT_EQ(dataset->tokens(), 1024);
  EXPECT_EQ(dataset->classes(), 50257);
  EXPECT_EQ(dataset->size(Split::train), 2);
}

TEST_F(Tokens, TooShortForASampleAreRefused) {
  options_.sequence = 9;
  EXPECT_THAT(error(), HasSubstr("x_val_0.bin: ends at token 9, a sample needs 10"));
  options_.sequence = 18;
  EXPECT_THAT(error(), HasSubstr("x_train_2.bin: ends at token 18, a sample needs 19"));
  write_text(folder_ / "x_train_2.bin", "");
  EXPECT_THAT(error(), HasSubstr("x_train_2.bin: empty"));
}

TEST_F(Tokens, OutOfTheVocabularyAreFoundByOneOfTheRanks) {
  options_.classes = 43;
  const auto sound = open();
  auto checked = sound->check(0, 1);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().what, HasSubstr("x_val_0.bin: token 90 at offset 0 is not below"));
  options_.classes = 98;
  const auto one = open();
  int found = 0;
  for (int rank = 0; rank < 7; ++rank) found += one->check(rank, 7) ? 0 : 1;
  EXPECT_EQ(found, 1) << "the last token is 98";
  std::vector<float> ids(4);
  std::vector<std::int32_t> next(4);
  EXPECT_TRUE(one->read_tokens(Split::validation, 0, ids, next));
  auto read = one->read_tokens(Split::validation, 1, ids, next);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::bad_request);
}

TEST_F(Tokens, ListingsDifferByNamesSizesAndFirstIds) {
  const auto key = [&] { return open()->listing_key(Split::train); };
  const std::uint64_t before = key();
  write_text(folder_ / "x_train_2.bin", token_ids(18, 24));
  const std::uint64_t other_ids = key();
  write_text(folder_ / "x_train_2.bin", token_ids(19, 24));
  const std::uint64_t other_size = key();
  std::filesystem::rename(folder_ / "x_train_2.bin", folder_ / "x_train_3.bin");
  EXPECT_NE(before, other_ids);
  EXPECT_NE(other_ids, other_size);
  EXPECT_NE(other_size, key());
}

/// Each sample once an epoch, whatever the ranks, each with the labels of its own tokens.
TEST_F(Tokens, AreDealtLikeImages) {
  const auto dataset = open();
  const Normalization none = *measure_normalization(*dataset);
  for (const int ranks : {1, 2, 3}) {
    std::multiset<float> begins;
    for (int rank = 0; rank < ranks; ++rank) {
      const StepShape shape{.ranks = ranks, .batch_size = 2};
      const auto slices = deal_epoch(10, shape, 0, rank);
      Loader loader(*dataset, none, epoch_order(1, 0, 10), slices,
                    {.workers = ranks - 1, .batch_size = 2});
      for (std::size_t i = 0; i < slices.size(); ++i) {
        auto batch = loader.next();
        ASSERT_TRUE(batch) << batch.error().what;
        ASSERT_EQ(batch->images.size(), 8u);
        ASSERT_EQ(batch->labels.size(), 8u);
        for (std::size_t t = 0; t < 4 * static_cast<std::size_t>(batch->count); ++t) {
          EXPECT_EQ(batch->labels[t], static_cast<std::int32_t>(batch->images[t]) + 1);
          if (t % 4 == 0) begins.insert(batch->images[t]);
        }
      }
    }
    EXPECT_EQ(begins, (std::multiset<float>{0, 4, 8, 12, 16, 20, 25, 29, 33, 37})) << ranks;
  }
}

/// More shards than the soft limit of open files.
TEST_F(Tokens, MayHaveManyShards) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_max < 1500) GTEST_SKIP() << "the hard limit of open files is " << limit.rlim_max;
  rlimit low = limit;
  low.rlim_cur = 256;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  for (int i = 0; i < 400; ++i) {
    write_text(folder_ / ("x_train_9" + std::to_string(i) + ".bin"), token_ids(5));
  }
  const auto dataset = open();
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ASSERT_NE(dataset, nullptr);
  EXPECT_EQ(dataset->size(Split::train), 410);
}

}  // namespace
}  // namespace dllaunch

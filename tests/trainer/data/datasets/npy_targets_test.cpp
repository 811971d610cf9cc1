#include "trainer/data/datasets/npy_targets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/trainer/checkpoints/mutation.hpp"
#include "tests/trainer/data/datasets/npy_bytes.hpp"
#include "tests/trainer/scratch_folder.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

class NpyTargetsFile : public testing::Test {
 protected:
  Result<NpyTargets> opened(const std::string& descr, const std::string& shape,
                            const std::string& data, std::uint64_t images) {
    write_text(folder_ / "labels.npy", npy_bytes(npy_header_text(descr, shape), data));
    return open_npy_targets(folder_ / "labels.npy", images);
  }
  std::string error(const std::string& descr, const std::string& shape, const std::string& data,
                    std::uint64_t images) {
    auto targets = opened(descr, shape, data, images);
    return targets ? "" : targets.error().what;
  }

  ScratchFolder folder_;
};

TEST_F(NpyTargetsFile, ShapeAndTypeDetermineTheKind) {
  auto classes = opened("<i4", "(3,)", raw_bytes<std::int32_t>({2, 0, 1}), 3);
  ASSERT_TRUE(classes) << classes.error().what;
  EXPECT_EQ(classes->kind, TargetKind::class_index);
  EXPECT_EQ(classes->labels, (std::vector<std::int32_t>{2, 0, 1}));
  EXPECT_EQ(classes->width, 0);
  auto sets = opened("|b1", "(2, 3)", std::string("\1\0\0\0\1\1", 6), 2);
  ASSERT_TRUE(sets) << sets.error().what;
  EXPECT_EQ(sets->kind, TargetKind::class_set);
  EXPECT_EQ(sets->width, 3);
  std::vector<float> row(3);
  ASSERT_TRUE(sets->read(1, row));
  EXPECT_EQ(row, (std::vector<float>{0, 1, 1}));
  auto values = opened("<f8", "(2, 2)", raw_bytes<double>({0.5, -1e10, 3, 4}), 2);
  ASSERT_TRUE(values) << values.error().what;
  EXPECT_EQ(values->kind, TargetKind::values);
  row.resize(2);
  ASSERT_TRUE(values->read(0, row));
  EXPECT_EQ(row, (std::vector<float>{0.5F, -1e10F}));
}

TEST_F(NpyTargetsFile, ReportsErrors) {
  EXPECT_THAT(error("<f4", "(3,)", std::string(12, 'x'), 4), HasSubstr("there are 4 images"));
  EXPECT_THAT(error("<f4", "(2, 1, 1)", std::string(8, 'x'), 2), HasSubstr("shape (2, 1, 1)"));
  EXPECT_THAT(error("|u1", "(2, 0)", "", 2), HasSubstr("shape (2, 0)"));
  EXPECT_THAT(error("<f2", "(2,)", std::string(4, 'x'), 2), HasSubstr("labels are of type f2"));
  auto sets = opened("|u1", "(2, 2)", std::string("\0\1\2\0", 4), 2);
  ASSERT_TRUE(sets);
  std::vector<float> row(2);
  EXPECT_TRUE(sets->read(0, row));
  auto bad = sets->read(1, row);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().kind, ErrorKind::bad_request);
  EXPECT_THAT(bad.error().what, HasSubstr("labels.npy: class 0 of image 1 is neither 0 nor 1: 2"));
  auto values = opened("<f8", "(1, 2)", raw_bytes<double>({1, 1e300}), 1);
  ASSERT_TRUE(values);
  EXPECT_THAT(values->read(0, row).error().what, HasSubstr("number 1 of image 0 is not finite"));
}

TEST_F(NpyTargetsFile, SurvivesDamage) {
  const std::string sound =
      npy_bytes(npy_header_text("<i4", "(6, 2)"), raw_bytes(std::vector<std::int32_t>(12, 1)));
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    write_text(folder_ / "labels.npy", mutated(sound, seed));
    auto targets = open_npy_targets(folder_ / "labels.npy", 6);
    if (!targets || targets->width == 0) continue;
    std::vector<float> row(static_cast<std::size_t>(targets->width));
    for (std::int64_t i = 0; i < 6; ++i) {
      auto read = targets->read(i, row);
      EXPECT_TRUE(read || !read.error().what.empty());
    }
  }
}

}  // namespace
}  // namespace dllaunch

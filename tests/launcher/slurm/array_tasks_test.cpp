#include "launcher/slurm/array_tasks.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

using Numbers = std::vector<int>;

TEST(ArrayTasks, AsSbatchTakesThem) {
  EXPECT_EQ(parse_array_tasks("3")->numbers, Numbers({3}));
  EXPECT_EQ(parse_array_tasks("0-12:4")->numbers, Numbers({0, 4, 8, 12}));
  EXPECT_EQ(parse_array_tasks("0-13:4")->numbers, Numbers({0, 4, 8, 12}));
  const auto some = parse_array_tasks("5-7,1,6%2");
  EXPECT_EQ(some->numbers, Numbers({1, 5, 6, 7}));
  EXPECT_EQ(some->at_once, 2);
  EXPECT_FALSE(some->cut);
}

TEST(ArrayTasks, AsSqueueShowsThem) {
  EXPECT_EQ(parse_array_tasks("74_[0-12:4]")->numbers, Numbers({0, 4, 8, 12}));
  EXPECT_EQ(parse_array_tasks("74_[0-2,9%3]")->at_once, 3);
  const auto cut = parse_array_tasks("74_[1,3-5,17,...%2]");
  EXPECT_EQ(cut->numbers, Numbers({1, 3, 4, 5, 17}));
  EXPECT_TRUE(cut->cut);
  EXPECT_EQ(parse_array_tasks("74_[1,3-5,1...]")->numbers, Numbers({1, 3, 4, 5}))
      << "the last number may have lost digits";
  const auto open = parse_array_tasks("1_[1,4,6,9,13-14,18,20,22,25,27");
  EXPECT_EQ(open->numbers, Numbers({1, 4, 6, 9, 13, 14, 18, 20, 22, 25}));
  EXPECT_TRUE(open->cut);
}

TEST(ArrayTasks, OtherTextIsNone) {
  for (const char* other : {"", "74_3", "12+1", "3-1", "-1", "1-5:0", "1,,2", "1%x", "[]", "x",
                            "0-99999999", "1-9:99999999999"})
    EXPECT_FALSE(parse_array_tasks(other)) << other;
}

TEST(ArrayTasks, WrittenForSbatch) {
  for (const char* text : {"3", "0-3,7%2", "1,3,5", "0-1"})
    EXPECT_EQ(to_string(*parse_array_tasks(text)), text);
  EXPECT_EQ(to_string(*parse_array_tasks("0-4:2,1")), "0-2,4");
}

TEST(ArrayTasks, JobsThatALineStandsFor) {
  EXPECT_EQ(jobs_with_id("74"), 1);
  EXPECT_EQ(jobs_with_id("74_3"), 1);
  EXPECT_EQ(jobs_with_id("12+1"), 1);
  EXPECT_EQ(jobs_with_id("74_[0-12:2]"), 7);
  EXPECT_EQ(jobs_with_id("74_[0-3,7%2]"), 5);
  EXPECT_EQ(jobs_with_id("74_[1,3,5,...]"), 3);
  EXPECT_EQ(jobs_with_id("74_[odd]"), 1);
  EXPECT_EQ(jobs_with_id("74_[0-3,7,1"), 5);
}

}  // namespace
}  // namespace dllaunch

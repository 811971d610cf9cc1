#include "launcher/launch/submission.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "launcher/slurm/scontrol_parser.hpp"
#include "tests/launcher/disk_system.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::StartsWith;

TEST(Submission, TokensDiffer) {
  EXPECT_THAT(new_token(), StartsWith("dllaunch:"));
  EXPECT_NE(new_token(), new_token());
}

TEST(Submission, TheTokenStandsBehindTheUsersComment) {
  EXPECT_EQ(comment_option("", "t"), "--comment=t");
  EXPECT_EQ(comment_option("it's mine", "t"), "--comment=it's mine t");
}

class Intent : public testing::Test {
 protected:
  DiskSystem system_;
  RunDir run_{.path = system_.folder.path()};
  const SubmissionIntent intent_{
      .token = "dllaunch:0000000000000007", .script = "s", .judged = "6", .intended_s = 9};
};

TEST_F(Intent, IsKeptUntilItIsForgotten) {
  EXPECT_FALSE(open_intent(system_, run_));
  ASSERT_TRUE(keep_intent(run_, intent_));
  const auto read = open_intent(system_, run_);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->token, "dllaunch:0000000000000007");
  EXPECT_EQ(read->judged, "6");
  EXPECT_EQ(read->intended_s, 9);
  EXPECT_EQ(read->script, run_.sbatch_script());
  forget_intent(run_);
  EXPECT_FALSE(open_intent(system_, run_));
}

TEST_F(Intent, ADamagedOneIsNone) {
  ASSERT_TRUE(keep_intent(run_, intent_));
  const auto path = run_.path + "/job.intent";
  const auto whole = *system_.read_file(path);
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    auto text = whole.substr(0, random() % (whole.size() + 1));
    if (!text.empty()) text[random() % text.size()] = static_cast<char>(random() % 256);
    std::ofstream(path) << text;
    const auto read = open_intent(system_, run_);
    EXPECT_TRUE(!read || token_in(read->token) == read->token);
  }
}

TEST_F(Intent, IsSettledByTwoAnswers) {
  int asked = 0;
  int answers_from = 9;
  system_.respond =
      [&](const std::vector<std::string>& argv) -> std::optional<Result<CommandOutput>> {
    if (argv[0] != "squeue") return std::nullopt;
    const bool there = ++asked >= answers_from;
    return Result<CommandOutput>(
        CommandOutput{0, there ? "12|mine dllaunch:0000000000000007|/x\n" : "11|other|/x\n", ""});
  };
  auto found = settle_intent(system_, intent_, 1ms);
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
  EXPECT_EQ(asked, 2);
  asked = 0;
  answers_from = 2;
  found = settle_intent(system_, intent_, 1ms);
  EXPECT_EQ(*found, "12") << "it came after the first answer";
  system_.respond = [](const std::vector<std::string>&) {
    return Result<CommandOutput>(CommandOutput{1, "", "Unable to contact slurm controller"});
  };
  EXPECT_FALSE(settle_intent(system_, intent_, 1ms)) << "silence concludes nothing";
}

}  // namespace
}  // namespace dllaunch

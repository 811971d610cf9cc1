#include "launcher/provenance/provenance.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

SubmissionRecord some_record(int number) {
  SubmissionRecord one{.time_s = 1000.0 + number, .host = "login1", .dllaunch = "0.1.0"};
  one.sets = {"train.lr=1"};
  one.code = CodeState{.folder = "/code", .revision = "0123", .branch = "main", .dirty = true};
  one.code->diff_bytes = 17;
  one.variables = {{"GREETING", "a\n\"<b>"}};
  one.left_out = {"HF_TOKEN"};
  one.versions = {{"NCCL", "2.21.5"}};
  one.python = PythonState{.program = "python3", .version = "3.11", .packages = {{"torch", "2"}}};
  one.seeds = {{"train.seed", "7"}};
  return one;
}

TEST(Provenance, IsReadAsItIsWritten) {
  auto all = with_submission({}, some_record(1));
  all = with_submission(all, {.host = "bare"});
  const auto read = provenance_in(provenance_text(all));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->submissions.size(), 2u);
  EXPECT_EQ(read->submissions[0].code, all.submissions[0].code);
  EXPECT_EQ(read->submissions[0].python, all.submissions[0].python);
  EXPECT_EQ(read->submissions[0].variables, all.submissions[0].variables);
  EXPECT_EQ(read->submissions[0].left_out, all.submissions[0].left_out);
  EXPECT_EQ(read->submissions[1].code, std::nullopt);
  EXPECT_EQ(provenance_text(*read), provenance_text(all));
}

TEST(Provenance, KeepsTheNewestSubmissions) {
  Provenance all;
  for (int i = 0; i < 50; ++i) all = with_submission(std::move(all), some_record(i));
  EXPECT_EQ(all.submissions.size(), Provenance::most_submissions);
  EXPECT_EQ(all.submissions.back().time_s, 1049);
  EXPECT_EQ(all.earlier, 30);
}

TEST(Provenance, ADamagedFileIsSaid) {
  for (const char* text : {"", "{", "[]", "null", "{}", "{\"submissions\":7}", "\xff"}) {
    const auto read = provenance_in(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().what, "provenance.json is damaged");
  }
  const auto odd = provenance_in(R"({"submissions":[7,{"host":3,"code":[]},{"host":"a"}]})");
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->submissions.back().host, "a");
}

TEST(Provenance, NoDamageIsFatal) {
  std::mt19937 random(7);
  const std::string whole = provenance_text(with_submission({}, some_record(1)));
  for (int round = 0; round < rounds_here(3000); ++round) {
    std::string text = whole;
    for (unsigned i = 0; i <= random() % 4; ++i) {
      const auto at = random() % text.size();
      if (random() % 2 == 0) text[at] = static_cast<char>(random() % 256);
      if (random() % 4 == 0) text.erase(at, random() % 20);
      if (text.empty()) text = "x";
    }
    const auto read = provenance_in(text);
    if (!read) continue;
    EXPECT_TRUE(provenance_in(provenance_text(*read)));
  }
}

}  // namespace
}  // namespace dllaunch

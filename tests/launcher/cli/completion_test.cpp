#include "launcher/cli/completion.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace dllaunch {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

std::vector<Candidate> some_values(std::string_view type, std::string_view) {
  if (type == "RUN") return {{"resnet50", "newest"}, {"bert", ""}};
  if (type == "KEY.PATH=VALUE") return {{"train.", ""}, {"name=", ""}};
  if (type == "JOB.yaml") return {{"train.yaml", "job file"}};
  return {};
}

Completion answer(const std::vector<std::string>& words) {
  return complete(command_groups(), words, some_values);
}

std::vector<std::string> words(const std::vector<std::string>& typed) {
  std::vector<std::string> found;
  for (const Candidate& candidate : answer(typed).candidates) found.push_back(candidate.word);
  return found;
}

TEST(Completion, BeginsWithCommandsAndJobFiles) {
  EXPECT_THAT(words({""}), Contains("run"));
  EXPECT_THAT(words({""}), Contains("train.yaml"));
  EXPECT_THAT(words({"sta"}), ElementsAre("status", "stacks", "stage"));
  EXPECT_THAT(words({"t"}), ElementsAre("topo", "train.yaml"));
  EXPECT_THAT(words({"-v", "sta"}), ElementsAre("status", "stacks", "stage"));
  EXPECT_THAT(words({"--color", "a"}), ElementsAre("auto", "always"));
  EXPECT_THAT(words({"--ver"}), ElementsAre("--verbose", "--version"));
  EXPECT_THAT(words({"--color=n"}), ElementsAre("--color=never"));
  EXPECT_EQ(answer({"my"}).files, WantedFiles::all) << "a job file in another folder";
  EXPECT_EQ(answer({"ru"}).files, WantedFiles::none);
}

TEST(Completion, KnowsTheOptionsOfACommand) {
  EXPECT_THAT(words({"plan", "--f"}), ElementsAre("--facts", "--failures"));
  EXPECT_THAT(words({"train.yaml", "--d"}), ElementsAre("--detach", "--dry-run"))
      << "a job file is run";
  EXPECT_THAT(words({"bind", "--policy", ""}), ElementsAre("closest", "spread", "none"));
  EXPECT_THAT(words({"bind", "--policy=s"}), ElementsAre("--policy=spread"));
  EXPECT_THAT(words({"bind", "--no-such=s"}), IsEmpty());
  EXPECT_THAT(words({"supervise", "--"}), Not(Contains("--states"))) << "hidden";
  EXPECT_THAT(words({"run", "x.yaml", "--set", ""}), ElementsAre("train.", "name="));
  EXPECT_THAT(words({"logs", "--rank", ""}), IsEmpty());
}

TEST(Completion, CountsPositionals) {
  EXPECT_THAT(words({"logs", ""}), ElementsAre("resnet50", "bert"));
  EXPECT_THAT(words({"logs", "-f", "--rank", "3", "r"}), ElementsAre("resnet50"));
  EXPECT_THAT(words({"logs", "resnet50", ""}), IsEmpty());
  EXPECT_THAT(words({"data", ""}), ElementsAre("get", "make"));
  EXPECT_THAT(words({"daemon", "st"}), ElementsAre("start", "status", "stop"));
  EXPECT_THAT(words({"completion", ""}), ElementsAre("bash", "zsh", "fish"));
  EXPECT_EQ(answer({"lint", ""}).files, WantedFiles::all);
  EXPECT_EQ(answer({"lease", ""}).files, WantedFiles::folders);
  EXPECT_EQ(answer({"exec", "--", "./a"}).files, WantedFiles::all);
  EXPECT_EQ(answer({"exec", "--", "./app", "--set", "--"}).files, WantedFiles::all)
      << "options of the program are its own";
}

TEST(Completion, OneLineEach) {
  EXPECT_EQ(render_completion({.candidates = {{"a", "what"}, {"b", ""}, {"c\nd", ""}},
                               .files = WantedFiles::all}),
            "a\twhat\nb\n:files\n");
  EXPECT_EQ(render_completion({.files = WantedFiles::folders}), ":folders\n");
}

/// Any words: an answer, whose candidates continue what was typed.
TEST(Completion, AnswersAnyWords) {
  const std::vector<std::string> parts = {"",       "run",  "--set", "-",      "--",     "--color",
                                          "status", "-q=1", "=",     "--rank", "x.yaml", "\xff"};
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> typed(1 + random() % 5);
    for (auto& word : typed) word = parts[random() % parts.size()];
    for (const std::string& word : words(typed))
      EXPECT_TRUE(word.starts_with(typed.back())) << word << " for " << typed.back();
  }
  EXPECT_THAT(words({}), IsEmpty());
}

}  // namespace
}  // namespace dllaunch

#include "launcher/sweep/trial_sets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Job training(const std::string& schedule) {
  Job job;
  job.train = {{"lr_schedule", Json::parse(schedule)}};
  return job;
}

Job command(std::vector<std::string> argv) {
  Job job;
  job.run_command = std::move(argv);
  return job;
}

TEST(TrialSets, OfATrainingAreItsKeys) {
  const auto sets =
      sets_of_trial(training(R"({"decay": "none"})"),
                    Json::parse(R"({"train.optimizer.lr": 0.01, "train.model": "a b"})"), 0, 0);
  ASSERT_TRUE(sets);
  EXPECT_THAT(*sets, ElementsAre("train.optimizer.lr=0.01", "train.model=\"a b\""));
}

/// Else a trial that stops early would have decayed its rate to nothing.
TEST(TrialSets, ADecayStaysAsLongAsInAWholeTraining) {
  const auto decay = [](const std::string& schedule) {
    return *sets_of_trial(training(schedule), Json::object(), 3, 27);
  };
  EXPECT_THAT(decay(R"({"decay": "cosine", "decay_epochs": null, "warmup_epochs": 2})"),
              ElementsAre("train.epochs=3", "train.lr_schedule.decay_epochs=25"));
  EXPECT_THAT(decay(R"({"decay": "cosine", "decay_epochs": 5})"), ElementsAre("train.epochs=3"));
  EXPECT_THAT(*sets_of_trial(training(R"({"decay": "none"})"),
                             Json::parse(R"({"train.lr_schedule.decay": "cosine"})"), 3, 27),
              ElementsAre("train.lr_schedule.decay=\"cosine\"", "train.epochs=3",
                          "train.lr_schedule.decay_epochs=27"));
  EXPECT_THAT(decay(R"({"decay": "step", "step_epochs": 5})"), ElementsAre("train.epochs=3"));
}

TEST(TrialSets, PlaceholdersAreFilledAndQuotedForBash) {
  const auto sets = sets_of_trial(command({"python3", "t.py", "--lr={lr}", "{name}"}),
                                  Json::parse(R"({"lr": 0.5, "name": "a b"})"), 0, 0);
  ASSERT_TRUE(sets);
  EXPECT_THAT(*sets, ElementsAre(R"(run=["python3","t.py","--lr=0.5","a b"])"));
  Job bash = command({"bash", "-c", "t --name {name} --epochs $EPOCHS"});
  bash.environment.variables = {{"EPOCHS", "{epochs}"}};
  const auto script = sets_of_trial(bash, Json::parse(R"({"name": "a'; rm x"})"), 3, 9);
  ASSERT_TRUE(script);
  ASSERT_EQ(script->size(), 2U);
  const auto argv = Json::parse(script->front().substr(4));
  EXPECT_EQ(argv[2], R"(t --name 'a'\''; rm x' --epochs $EPOCHS)");
  EXPECT_EQ(script->back(), R"(environment.variables.EPOCHS="3")");

  Job variables = command({"t"});
  variables.environment.variables = {{"A", "x"}, {"LR", "{lr}"}};
  EXPECT_THAT(*sets_of_trial(variables, Json::parse(R"({"lr": 0.5})"), 0, 0),
              ElementsAre("environment.variables.LR=\"0.5\""));
}

/// A value that looks like another's placeholder is a value.
TEST(TrialSets, ValuesAreNotFilledAgain) {
  const auto sets =
      sets_of_trial(command({"t", "{a}", "{b}"}), Json::parse(R"({"a": "{b} {", "b": 1})"), 0, 0);
  ASSERT_TRUE(sets);
  EXPECT_THAT(*sets, ElementsAre(R"(run=["t","{b} {","1"])"));
}

TEST(TrialSets, SayWhatIsNoPlace) {
  EXPECT_THAT(sets_of_trial(command({"t"}), Json::parse(R"({"lr": 1})"), 0, 0).error().what,
              HasSubstr("neither a key of the job file nor {lr}"));
  EXPECT_THAT(sets_of_trial(command({"t"}), Json::object(), 3, 9).error().what,
              HasSubstr("no variable has {epochs}"));
  EXPECT_THAT(*sets_of_trial(command({"t"}), Json::object(), 0, 0), IsEmpty());
}

}  // namespace
}  // namespace dllaunch

#include "launcher/sweep/trial_metric.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/sample_plans.hpp"
#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class TrialMetric : public testing::Test {
 protected:
  std::map<std::int64_t, double> read(const Job& job, const std::string& file,
                                      const std::string& text, const Trial& trial = {}) {
    const auto dir =
        place_.store({.folder = "a", .status = "completed", .trains = !job.train.is_null()});
    place_.append(dir, file, text);
    return *read_metric({.path = dir}, job, trial);
  }

  RunPlace place_;
};

TEST_F(TrialMetric, OfATrainingIsByEpochAndTheLastWordCounts) {
  auto job = run_job();
  job.train = Json::object();
  const auto values = read(job, "events.jsonl",
                           "{\"time\":1,\"event\":\"epoch\",\"epoch\":1,\"val_accuracy\":0.5}\n"
                           "{\"time\":2,\"event\":\"epoch\",\"epoch\":2,\"val_accuracy\":0.6}\n"
                           "{\"time\":2,\"event\":\"epoch\",\"epoch\":3,\"val_accuracy\":0.9}\n"
                           "no event\n"
                           "{\"time\":3,\"event\":\"epoch\",\"epoch\":2,\"val_accuracy\":0.7}\n"
                           "{\"time\":4,\"event\":\"epoch\",\"epoch\":4,\"val_accuracy\":null}\n");
  EXPECT_THAT(values, ElementsAre(Pair(1, 0.5), Pair(2, 0.7)))
      << "epoch 3 was lost by a restart, and 4 is no number";
}

TEST_F(TrialMetric, OfACommandIsTheLastMatch) {
  auto job = run_job();
  job.sweep.value = "acc=([^ ]+)";
  const std::string log = "out/rank-0000-n1.log";
  EXPECT_THAT(read(job, log, "acc=0.1\nacc=0.25 done\n"), ElementsAre(Pair(1, 0.25)));
  EXPECT_THAT(read(job, log, "acc=0.5", {.target = 9}), ElementsAre(Pair(9, 0.5)));
  const std::map<std::string, std::uint64_t> before = {{"rank-0000-n1.log", 31}};
  EXPECT_THAT(read(job, log, "\nx\n", {.target = 27, .log_from = before}), IsEmpty())
      << "what an earlier execution printed does not count";
  EXPECT_THAT(read(job, "out/rank-0000-n2.log", "acc=1\n", {.target = 27, .log_from = before}),
              ElementsAre(Pair(27, 1)))
      << "on another node, whose log is shorter";
  EXPECT_THAT(read(job, log, "acc=nan\n"), IsEmpty());
}

TEST(CheckMetric, NamesTheNearestAndWantsAPattern) {
  auto job = run_job();
  EXPECT_THAT(check_metric(job).error().what, HasSubstr("what a sweep of its run: compares"));
  job.sweep.value = "(";
  EXPECT_THAT(check_metric(job).error().what, HasSubstr("sweep.value: "));
  job.sweep.value = "x";
  EXPECT_TRUE(check_metric(job));
  job.train = Json::object();
  EXPECT_TRUE(check_metric(job));
  job.sweep.metric = "val_acuracy";
  EXPECT_THAT(check_metric(job).error().what, HasSubstr("did you mean val_accuracy?"));
}

}  // namespace
}  // namespace dllaunch

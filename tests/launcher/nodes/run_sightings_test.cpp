#include "launcher/nodes/run_sightings.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const EndedStart start{.cluster = "c",
                       .job = "17",
                       .nodes = {"n1", "n2"},
                       .began_s = 100,
                       .ended_s = 200,
                       .fencing_token = 3};

std::vector<NodeSighting> seen_in(const std::vector<std::string>& lines,
                                  double* trained_s = nullptr) {
  EventSightings events(start, [](int rank) { return fmt::format("n{}.site", rank + 1); });
  for (const auto& line : lines) events.take(line);
  if (trained_s != nullptr) *trained_s = events.trained_s();
  return events.observations();
}

/// As dltrain writes it: the others wait 30 of 100 s for rank 1, which waits for its data.
std::string epoch_of(int generation) {
  return fmt::format(
      R"({{"time":1,"event":"ranks","generation":{},"epoch":1,"seconds":{{)"
      R"("data":[0,10,10,40,40],"forward":[0,60,60,60,60],"waiting":[0,0,30,30,30],)"
      R"("delayed":[0,0,5,0,30]}},"slowest":[{{"host":"n2","delayed":31}}],"stragglers":[)"
      R"({{"rank":1,"host":"n2.site","cause":"data","delayed":30}},)"
      R"({{"rank":3,"host":"n2","cause":"compute","delayed":12}},)"
      R"({{"rank":0,"host":"n1","cause":"between","delayed":9}}]}})",
      generation);
}

TEST(RunSightings, LateRanksAreTheirNodes) {
  double trained_s = 0;
  const auto seen = seen_in({epoch_of(3), epoch_of(3)}, &trained_s);
  EXPECT_EQ(trained_s, 200) << "of a rank of the middle, without what it delayed others";
  ASSERT_EQ(seen.size(), 1u) << "what a program does between steps is its own";
  EXPECT_EQ(seen[0].nodes, "n2");
  EXPECT_EQ(seen[0].kind, SightingKind::late);
  EXPECT_EQ(seen[0].value, 62) << "of a node's ranks the latest counts";
  EXPECT_EQ(seen[0].of, 200);
}

TEST(RunSightings, OtherStartsDoNotCount) {
  EXPECT_THAT(seen_in({epoch_of(2), epoch_of(4)}), IsEmpty());
}

TEST(RunSightings, ErrorsOfGpus) {
  const auto of = [](const char* row) {
    return seen_in({fmt::format(R"({{"event":"gpus","generation":3,"worst":[{}]}})", row)});
  };
  const auto fallen = of(R"({"host":"n2","pci":"0000:0f:00.0","xids":[79,13],"ecc_errors":0})");
  ASSERT_EQ(fallen.size(), 1u);
  EXPECT_EQ(fallen[0].kind, SightingKind::gpu_error);
  EXPECT_EQ(fallen[0].value, 1) << "13 is the program's";
  EXPECT_EQ(fallen[0].words, "GPU 0000:0f:00.0: XID 79");
  EXPECT_EQ(of(R"({"host":"n2","ecc_errors":2,"xids":null})").at(0).value, 2);
  EXPECT_THAT(of(R"({"host":"n2","xids":[31],"ecc_errors":null})"), IsEmpty());
  EXPECT_THAT(of(R"({"host":"n9","xids":[79]})"), IsEmpty()) << "no node of this run";
}

TEST(RunSightings, ARankThatEndedTheRun) {
  const auto of = [](const char* state, const char* ranks) {
    return seen_in({fmt::format(
        R"({{"event":"stall","generation":3,"state":"{}","late_ranks":{}}})", state, ranks)});
  };
  EXPECT_THAT(of("late", "[1]"), IsEmpty());
  EXPECT_EQ(of("gave up", "[1]").at(0).words, "rank 1 held up the others until the run was ended");
  EXPECT_THAT(of("gave up", "[0,1]"), IsEmpty()) << "of two nodes none is known to be the cause";
}

/// Events of a helper that is written elsewhere: by its name, in whatever way it names the node.
TEST(RunSightings, WrongNumbers) {
  for (const char* named : {R"("host":"n2")", R"("hosts":["n2"])", R"("node":"n2.site")",
                            R"("rank":1)", R"("ranks":[1])"}) {
    const auto seen = seen_in({fmt::format(
        R"({{"event":"corrupted","generation":3,{},"line":"rank 1 differs"}})", named)});
    ASSERT_EQ(seen.size(), 1u) << named;
    EXPECT_EQ(seen[0].kind, SightingKind::corrupted);
    EXPECT_EQ(seen[0].nodes, "n2");
    EXPECT_EQ(seen[0].words, "rank 1 differs");
  }
}

TEST(RunSightings, WrongNumbersOfWhichTheRankIsNotKnownYet) {
  EXPECT_THAT(seen_in({R"({"event":"corrupted","generation":3,"how":"pending","hosts":["n2"]})"}),
              IsEmpty());
}

TEST(RunSightings, NonsenseSaysNothing) {
  for (const char* line :
       {"", "{}", "[]", R"({"event":"ranks"})", R"({"event":"ranks","seconds":7,"stragglers":8})",
        R"({"event":"gpus","worst":{"a":1}})",
        R"({"event":"stall","state":"gave up","late_ranks":"x"})",
        R"({"event":"corrupted","ranks":[99999999999]})", R"({"event":"corrupted")"})
    EXPECT_THAT(seen_in({line}), IsEmpty()) << line;
}

TEST(RunSightings, ALostNodeIsTheNodes) {
  const auto seen = sightings_of(start, {.cause = Cause::lost_node, .detail = "n2"});
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].nodes, "n2");
  EXPECT_EQ(seen[0].value, 1);
  EXPECT_EQ(seen[0].time, 200);
}

TEST(RunSightings, OfADeadRankOnlyWhatMayBeTheNodes) {
  const auto weight_of = [](DeadRank dead, const std::string& error = "") {
    dead.rank = 1;
    dead.host = "n2";
    const auto seen =
        sightings_of(start, {.cause = Cause::failed, .dead = dead, .first_error = error});
    return seen.empty() ? 0 : seen[0].value;
  };
  EXPECT_EQ(weight_of({.signal = SIGKILL}), 0.5);
  EXPECT_EQ(weight_of({.signal = SIGSEGV}), 0.25);
  EXPECT_EQ(weight_of({.signal = SIGTERM}), 0);
  EXPECT_EQ(weight_of({.signal = SIGKILL, .out_of_memory = true}), 0);
  EXPECT_EQ(weight_of({.exit_code = 1}, "ImportError: no module named x"), 0);
  EXPECT_EQ(weight_of({.exit_code = 1}, "OSError: [Errno 5] Input/output error"), 0);
  EXPECT_EQ(weight_of({.others = "0-3", .signal = SIGKILL}), 0) << "which was first is unknown";
  EXPECT_EQ(weight_of({.exit_code = 1}, "CUDA error: uncorrectable ECC error encountered"), 1);
  EXPECT_THAT(sightings_of(start, {.cause = Cause::cancelled}), IsEmpty());
  EXPECT_THAT(sightings_of(start, {.cause = Cause::failed, .dead = {.signal = SIGKILL}}), IsEmpty())
      << "nobody knows where";
}

TEST(RunSightings, ANodeThatIsLeftOutAlthoughItPassedIsNotUnfit) {
  EXPECT_THAT(sightings_of({{.node = "n1"}}, {"n1"}, "c", "17", 50), IsEmpty());
}

TEST(RunSightings, WhatAPreflightMeasured) {
  const std::vector<NodeVerdict> verdicts = {
      {.node = "n1", .measured = {{"cpu GFLOP/s", "2 CPUs", 30}}},
      {.node = "n2",
       .ok = false,
       .checks = {{.name = "cpu", .level = Level::fail, .why = "slow"}},
       .measured = {{std::string(memory_errors_figure), "", 5}}},
      {.node = "n3",
       .ok = false,
       .checks = {{.name = "links", .level = Level::fail, .why = "slow", .shared = true}}}};
  const auto seen = sightings_of(verdicts, {"n2", "n3"}, "c", "17", 50);
  ASSERT_EQ(seen.size(), 3u) << "of a slow pair, either node may be at fault";
  EXPECT_EQ(seen[0].kind, SightingKind::measured);
  EXPECT_EQ(seen[0].like, "2 CPUs");
  EXPECT_EQ(seen[1].kind, SightingKind::memory_error);
  EXPECT_EQ(seen[2].kind, SightingKind::unfit);
  EXPECT_EQ(seen[2].words, "unfit, cpu: slow");
}

}  // namespace
}  // namespace dllaunch

// The fixtures are dumps of PyTorch 2.15 over gloo: three ranks reduce three times; then ranks 0
// and 1 wait in the fourth, and rank 2 sleeps (late_*) or waits in a broadcast (other_*).
#include "launcher/autopsy/flight_record.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "launcher/autopsy/merge_stacks.hpp"
#include "support/file_text.hpp"

namespace dllaunch {
namespace {

std::vector<RecordedGroup> fixture(const std::string& name) {
  const auto dump = read_file_text(DLLAUNCH_SOURCE_DIR "/tests/fixtures/flight_recorder/" + name);
  auto groups = read_flight_record(dump ? *dump : "");
  if (!groups) return {};
  for (RecordedGroup& group : *groups) group.written_s = 1795798080;
  return *std::move(groups);
}

NodeStacks node_of(const std::vector<std::vector<RecordedGroup>>& ranks) {
  NodeStacks node{.host = "n1"};
  for (const auto& recorded : ranks) {
    const int rank = static_cast<int>(node.processes.size());
    ThreadStack waits{.id = 1, .state = "R", .frames = {{.function = "cudaStreamSynchronize"}}};
    node.processes.push_back(
        {.rank = rank, .host = "n1", .pid = 100 + rank, .threads = {waits}, .recorded = recorded});
  }
  return node;
}

RecordedGroup waiting(std::int64_t number, const std::string& collective = "all_reduce") {
  return {.group = "0",
          .entered = number,
          .waits_in = number,
          .collective = collective,
          .since_s = 100,
          .written_s = 110};
}
RecordedGroup idle(std::int64_t entered, double written_s = 110) {
  return {.group = "0", .entered = entered, .written_s = written_s};
}

TEST(FlightRecord, OfPyTorchIsRead) {
  const auto waits = fixture("late_0");
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].group, "0");
  EXPECT_EQ(waits[0].entered, 4);
  EXPECT_EQ(waits[0].waits_in, 4);
  EXPECT_EQ(waits[0].collective, "all_reduce");
  EXPECT_NEAR(waits[0].since_s, 1795798075.66, 0.01);
  for (const char* same : {"late_2", "late_2.json"}) {
    const auto late = fixture(same);
    ASSERT_EQ(late.size(), 1u);
    EXPECT_EQ(late[0].entered, 3);
    EXPECT_EQ(late[0].waits_in, 0);
  }
}

TEST(FlightRecord, OfOtherThingsIsRefused) {
  for (const char* text : {"", "{", "[]", "{}", "{\"entries\": 3}", "\x80\x02}."}) {
    EXPECT_FALSE(read_flight_record(text)) << text;
  }
  const auto none = read_flight_record("{\"entries\": [3, {}]}");
  EXPECT_TRUE(none && none->empty());
}

/// Their stacks are alike.
TEST(FlightRecord, NamesWhoHasNotEntered) {
  const auto report =
      merge_stacks({node_of({fixture("late_0"), fixture("late_1"), fixture("late_2")})});
  EXPECT_EQ(stack_sentence(report),
            "rank 2 on n1 is in cudaStreamSynchronize: it has not entered all_reduce #4, which 2 "
            "others wait in");
}

TEST(FlightRecord, NamesWhoIsInAnother) {
  const auto node = node_of({fixture("other_0"), fixture("other_1"), fixture("other_2")});
  EXPECT_EQ(late_by_records({node}).at(2),
            "waits in broadcast #4, where 2 others are in all_reduce");
  EXPECT_EQ(late_by_records({node}).size(), 1u);
}

/// Tensor parallel in "1" and "2", data parallel in "3" and "4"; rank 3 sleeps, so rank 2 waits for
/// it and rank 0 for rank 2.
TEST(FlightRecord, OfNestedGroupsNamesTheOneThatWaitsNowhere) {
  const auto in = [](const std::string& group, RecordedGroup record) {
    record.group = group;
    return record;
  };
  const auto node = node_of({{in("3", waiting(9, "reduce_scatter")), in("1", idle(40))},
                             {in("4", waiting(9, "reduce_scatter")), in("1", idle(40))},
                             {in("2", waiting(40)), in("3", idle(8))},
                             {in("2", idle(39)), in("4", idle(8))}});
  EXPECT_EQ(
      late_by_records({node}),
      (std::map<int, std::string>{{3, "has not entered all_reduce #40, which 1 other waits in"}}));
}

/// The reason that its stack shows comes first.
TEST(FlightRecord, DoesNotHideAPattern) {
  auto node = node_of({{waiting(127)}, {waiting(127)}, {idle(126)}});
  node.processes[2].threads[0].state = "T";
  EXPECT_EQ(merge_stacks({node}).odd.at(0).why,
            "is stopped (by a signal or a debugger); it has not entered all_reduce #127, which 2 "
            "others wait in");
}

/// As an old one does, or one of another job.
TEST(FlightRecord, ThatTheStacksContradictDoesNotCount) {
  auto node = node_of({{waiting(127)}, {waiting(127)}, {idle(126)}});
  node.processes[1].threads[0].frames = {{.function = "read_file"}};
  const auto odd = merge_stacks({node}).odd;
  ASSERT_EQ(odd.size(), 1u);
  EXPECT_EQ(odd[0].rank, 1);
  EXPECT_EQ(odd[0].why, "does something else than the others");
  EXPECT_FALSE(odd[0].tells_others);
}

TEST(FlightRecord, SaysNothingOfHealthyRanks) {
  EXPECT_TRUE(late_by_records({node_of({{idle(5)}, {idle(4)}})}).empty()) << "nobody waits";
  EXPECT_TRUE(late_by_records({node_of({{waiting(5)}, {waiting(5)}})}).empty());
  EXPECT_TRUE(late_by_records({node_of({{waiting(5)}, {}})}).empty()) << "no record";
  EXPECT_TRUE(late_by_records({node_of({{waiting(5)}, {idle(4, 100.5)}})}).empty())
      << "it may have entered since it wrote";
  EXPECT_TRUE(late_by_records({node_of({{waiting(5)}, {idle(6)}})}).empty()) << "gone further";
}

/// Of several that wait, the earliest counts: the later ones were only begun.
TEST(FlightRecord, TheFirstThatHasNotEndedCounts) {
  auto ahead = waiting(127);
  ahead.entered = 130;
  EXPECT_EQ(
      late_by_records({node_of({{ahead}, {waiting(127)}, {idle(126)}})}),
      (std::map<int, std::string>{{2, "has not entered all_reduce #127, which 2 others wait in"}}));
}

}  // namespace
}  // namespace dllaunch

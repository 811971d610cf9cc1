#include "launcher/autopsy/merge_stacks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/launcher/autopsy/sample_stacks.hpp"

namespace dllaunch {
namespace {

/// 128 ranks, of which 63 is in its own code.
StackReport large_report() {
  std::vector<ProcessStacks> processes;
  for (int rank = 0; rank < 128; ++rank) {
    processes.push_back(program_of(rank, rank == 63 ? in_code() : in_all_reduce()));
  }
  return merge_stacks(on_two_nodes(std::move(processes)));
}

TEST(MergeStacks, NamesTheOddRankInOneSentence) {
  EXPECT_EQ(stack_sentence(large_report()),
            "rank 63 on n1 is in slow (train.py:2): it is outside the collective in which the "
            "others wait; 127 others wait in all_reduce");
  EXPECT_EQ(stack_sentence(merge_stacks({})), "");
  std::vector<ProcessStacks> processes;
  for (int rank = 0; rank < 5; ++rank) {
    processes.push_back(program_of(rank, rank > 2 ? in_code() : in_all_reduce()));
  }
  const auto sentence = stack_sentence(merge_stacks(on_two_nodes(std::move(processes))));
  EXPECT_NE(sentence.find("; likewise rank 4; 3 others wait in all_reduce"), std::string::npos)
      << sentence;
}

TEST(MergeStacks, DrawsATreeThatForksWhereRanksDo) {
  EXPECT_EQ(render_stacks(large_report()),
            stack_sentence(large_report()) +
                "\n\n"
                "[0-127] <module> (train.py:9)\n"
                "step (train.py:4)\n"
                "  [0-62,64-127] all_reduce (distributed_c10d.py:1322)\n"
                "  [63] slow (train.py:2)\n");
}

TEST(MergeStacks, SaysWhatIsMissing) {
  std::vector<ProcessStacks> processes = {program_of(0, {}), program_of(2, {})};
  for (ProcessStacks& each : processes) each.threads.front().why_not = "it has ended";
  StackReport report = merge_stacks(on_two_nodes(std::move(processes)));
  report.nodes.front().left_out = 3;
  report.unanswered = {{"n7", "no answer within 5 s"}};
  EXPECT_EQ(render_stacks(report),
            "[0,2] it has ended\nn7: no answer within 5 s\nn0: 3 processes left out\n");
}

TEST(MergeStacks, AsJsonHaveTheirFixedNames) {
  const Json document = to_json(large_report());
  ASSERT_EQ(document["groups"].size(), 2u);
  const Json& group = document["groups"][0];
  EXPECT_EQ(group["ranks"], Json("0-62,64-127"));
  EXPECT_EQ(group["collective"], Json("all_reduce"));
  EXPECT_EQ(group["frames"].size(), 3u);
  EXPECT_EQ(
      group["frames"][0],
      Json({{"function", "<module>"}, {"file", "train.py"}, {"line", 9}, {"language", "python"}}));
  EXPECT_EQ(document["groups"][1]["ranks"], Json("63"));
  ASSERT_EQ(document["odd"].size(), 1u);
  const Json& odd = document["odd"][0];
  EXPECT_EQ(odd["rank"], Json(63));
  EXPECT_EQ(odd["host"], Json("n1"));
  EXPECT_EQ(odd["frame"]["function"], Json("slow"));
  EXPECT_EQ(odd["why"], Json("is outside the collective in which the others wait"));
  EXPECT_EQ(document["nodes"].size(), 2u);
  EXPECT_TRUE(document["unanswered"].is_object());
}

TEST(MergeStacks, ReadsTheAnswersOfNodesBack) {
  ProcessStacks process = program_of(3, in_code(), {native_frame("main")});
  process.threads.front().kernel = "futex_wait_queue";
  const NodeStacks node{.host = "n1", .processes = {process}, .left_out = 2};
  const auto back = read_what_fits<NodeStacks>(Json::parse(write_fields(node).dump()));
  EXPECT_EQ(write_fields(back), write_fields(node));
  EXPECT_EQ(back.processes.at(0).main_stack(), in_code());
}

}  // namespace
}  // namespace dllaunch

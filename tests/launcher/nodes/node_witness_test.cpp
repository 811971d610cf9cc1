#include "launcher/nodes/node_witness.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launcher/slurm/host_list.hpp"
#include "runtime/rank/run_ownership.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Place {
  TemporaryFolder folder;
  FakeSystem system;
  RunDir run{.path = folder.path()};
  NodeBook book{folder.path() + "/dllaunch/nodes.jsonl"};

  Place() { system.variables = {{"XDG_STATE_HOME", folder.path()}, {"SLURM_CLUSTER_NAME", "c"}}; }
  std::vector<NodeSighting> seen() const { return read_node_book(book)->all; }
};

TEST(NodeWitness, WritesWhatAStartSaw) {
  Place place;
  NodeWitness witness(place.system, place.run, "17", "");
  std::ofstream(place.run.events()) << R"({"event":"corrupted","generation":3,"host":"n1"})"
                                    << "\n";
  witness.begins("n[1-2]", 3);
  std::ofstream(place.run.events(), std::ios::app)
      << R"({"event":"corrupted","generation":3,"host":"n2"})"
      << "\n";
  witness.ended({.cause = Cause::lost_node, .detail = "n1"});
  const auto seen = place.seen();
  ASSERT_EQ(seen.size(), 3u) << "what was in the file before is another start's";
  EXPECT_EQ(seen[0].kind, SightingKind::used);
  EXPECT_EQ(seen[0].nodes, "n[1-2]");
  EXPECT_EQ(seen[0].cluster, "c");
  EXPECT_EQ(seen[0].run, "17");
  EXPECT_EQ(seen[1].kind, SightingKind::corrupted);
  EXPECT_EQ(seen[1].nodes, "n2");
  EXPECT_EQ(seen[2].kind, SightingKind::failed);
  EXPECT_EQ(place.system.logged, "");
}

/// A line has a bound, and 4,000 names without a pattern do not fit into one.
TEST(NodeWitness, ManyNodesAreWrittenInSeveralLines) {
  Place place;
  NodeWitness witness(place.system, place.run, "17", "");
  std::string nodes;
  for (int i = 0; i < 4000; ++i)
    nodes += fmt::format("{}rack{}-node{}x", i == 0 ? "" : ",", i % 97, i);
  witness.begins(nodes, 3);
  witness.ended({.cause = Cause::completed});
  std::size_t hosts = 0;
  for (const auto& one : place.seen()) {
    EXPECT_LE(one.nodes.size(), most_nodes_text);
    hosts += expand_hosts(one.nodes)->size();
  }
  EXPECT_EQ(hosts, 4000u);
  EXPECT_GT(place.seen().size(), 1u);
}

TEST(NodeWitness, OutsideSlurmOrWithoutABookNothingIsWritten) {
  Place place;
  NodeWitness alone(place.system, place.run, "", "");
  alone.begins("n1", 3);
  alone.ended({});
  place.system.variables[node_book_variable] = "";
  NodeWitness none(place.system, place.run, "17", "");
  none.begins("n1", 3);
  none.ended({});
  none.vanished();
  EXPECT_FALSE(std::filesystem::exists(place.book.path));
}

TEST(NodeWitness, ComplainsOnce) {
  Place place;
  place.system.variables[node_book_variable] = place.folder.path();  // a folder
  NodeWitness witness(place.system, place.run, "17", "");
  for (int i = 0; i < 3; ++i) {
    witness.begins("n1", 3);
    witness.ended({});
  }
  EXPECT_THAT(place.system.logged, HasSubstr("dllaunch: warning: node book "));
  EXPECT_THAT(place.system.logged, HasSubstr("; set DLLAUNCH_NODE_BOOK to another file"));
  EXPECT_EQ(std::ranges::count(place.system.logged, '\n'), 1);
}

TEST(NodeWitness, RanksLeaveBadNodesToTheSpares) {
  Place place;
  NodeWitness witness(place.system, place.run, "17", "");
  witness.begins("n[1-3]", 3);
  witness.ended({.cause = Cause::lost_node, .detail = "n2"});
  EXPECT_THAT(witness.unwanted({"auto"}, "n[1-3]", 2), IsEmpty()) << "once";
  witness.begins("n[1-3]", 4);
  witness.ended({.cause = Cause::lost_node, .detail = "n2"});
  EXPECT_THAT(witness.unwanted({"auto"}, "n[1-3]", 2), ElementsAre("n2"));
  EXPECT_THAT(witness.unwanted({"n3"}, "n[1-3]", 2), ElementsAre("n3"));
  EXPECT_THAT(witness.unwanted({}, "n[1-3]", 2), IsEmpty());
  EXPECT_THAT(witness.unwanted({"auto"}, "n[1-3]", 3), IsEmpty()) << "there are no spares";
}

TEST(NodeWitness, AScriptThatVanishedMayHaveLostItsNode) {
  Place place;
  const auto owner = RunOwnership::take(place.run.path, {.host = "n1.site", .pid = 1, .job = "17"});
  ASSERT_TRUE(owner);
  NodeWitness(place.system, place.run, "17", "").vanished();
  const auto seen = place.seen();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].nodes, "n1");
  EXPECT_EQ(seen[0].value, 0.15);
}

}  // namespace
}  // namespace dllaunch

// Runs on 1 to 4 real ranks.
#include "runtime/communicators/mpi/mpi_peers.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/communicators/on_ranks.hpp"
#include "tests/runtime/communicators/peers/exercises.hpp"

namespace dllaunch {
namespace {

TEST(MpiPeers, AMessageOfAnySizeArrivesWhole) {
  expect_messages_arrive_whole(*all_peers());
}

TEST(MpiPeers, AMessageInPiecesArrivesWhole) {
  expect_pieces_arrive_whole(*all_peers());
}

TEST(MpiPeers, AGroupKnowsItsRanks) {
  expect_groups_know_their_ranks(*all_peers());
}

TEST(MpiPeers, GroupsAreApart) {
  expect_groups_are_apart(*all_peers());
}

TEST(MpiPeers, GatherAll) {
  expect_gathers_all(*all_peers());
}

TEST(MpiPeers, CollectivesEndInAnyOrder) {
  expect_collectives_end_in_any_order(*all_peers());
}

TEST(MpiPeers, ActionsContinueExchanges) {
  expect_actions_continue_exchanges(*all_peers());
}

}  // namespace
}  // namespace dllaunch

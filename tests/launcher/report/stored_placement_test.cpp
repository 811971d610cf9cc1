#include "launcher/report/stored_placement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

TEST(StoredPlacement, LeavesOutWhatItCannotRead) {
  for (const char* text : {"{}", "[]", "null", R"({"node":7,"binding":[]})",
                           R"({"binding":{"policy":"x","ranks":[1,null]}})",
                           R"({"binding":{"ranks":[{"cpus":"x","gpus":[7,{"index":9}]}]}})"}) {
    const auto stored = stored_placement(Json::parse(text));
    EXPECT_TRUE(stored.topology.numa.empty()) << text;
    for (const auto& rank : stored.placement.ranks) EXPECT_TRUE(rank.gpus.empty()) << text;
  }
}

}  // namespace
}  // namespace dllaunch

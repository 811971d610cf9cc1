#include "launcher/sweep/stored_sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/launcher/disk_system.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

TEST(StoredSweep, IsReadOrSaidToBeDamaged) {
  const TemporaryFolder folder;
  DiskSystem system;
  EXPECT_EQ(*stored_sweep(system, folder.path()), std::nullopt);
  const Sweep sweep{.name = "a", .metric = "m", .most_trials = 3};
  std::ofstream(folder.path() + "/sweep.json") << to_json(sweep).dump();
  EXPECT_EQ((*stored_sweep(system, folder.path()))->most_trials, 3);
  std::ofstream(folder.path() + "/sweep.json") << "{\"name\":";
  EXPECT_EQ(stored_sweep(system, folder.path()).error().kind, ErrorKind::bad_request);
}

}  // namespace
}  // namespace dllaunch

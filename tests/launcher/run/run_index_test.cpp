#include "launcher/run/run_index.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using RunDirs = std::vector<std::string>;

TEST(RunIndex, RunsFromAnywhereNewestFirst) {
  RunPlace place;
  const auto first = place.store({.folder = "a/first"});
  const auto second = place.store({.folder = "b c/sécond"});
  EXPECT_EQ(known_runs(place.system), RunDirs({second, first}));
  place.store({.folder = "a/first"});  // again in the same directory
  EXPECT_EQ(known_runs(place.system), RunDirs({first, second}));
  EXPECT_EQ(known_runs(place.system, 1), RunDirs({first}));
}

TEST(RunIndex, ARunIsAsNewAsItsStart) {
  RunPlace place;
  const auto first = place.store({.folder = "started-here/runs/first"});
  const auto second = place.store({.folder = "started-here/runs/second"});
  place.append(first, "events.jsonl.new", "{}\n");  // the older run's folder changes last
  EXPECT_EQ(known_runs(place.system), RunDirs({second, first}));
  fs::remove_all(*run_index_folder(place.system));
  const auto later = fs::file_time_type::clock::now() + std::chrono::hours(1);
  place.append(first, "job.yaml", "");
  place.append(second, "job.yaml", "");
  fs::last_write_time(second + "/job.yaml", later);
  fs::last_write_time(first, later + std::chrono::hours(1));
  EXPECT_EQ(known_runs(place.system), RunDirs({second, first}));
}

TEST(RunIndex, DeletedRunsAreNoRuns) {
  RunPlace place;
  const auto kept = place.store({.folder = "kept"});
  fs::remove_all(place.store({.folder = "gone"}));
  const auto emptied = place.store({.folder = "emptied"});
  fs::remove(emptied + "/plan.json");
  EXPECT_EQ(known_runs(place.system), RunDirs({kept}));
}

TEST(RunIndex, RubbishInItIsPassedOver) {
  RunPlace place;
  const auto kept = place.store({.folder = "kept"});
  const auto folder = *run_index_folder(place.system);
  std::ofstream(folder + "/empty.run") << "";
  std::ofstream(folder + "/binary.run") << std::string("\0\xff\n", 3);
  fs::create_directory(folder + "/folder.run");
  EXPECT_EQ(known_runs(place.system), RunDirs({kept}));
}

TEST(RunIndex, ItsSizeIsBounded) {
  RunPlace place;
  const auto folder = *run_index_folder(place.system);
  fs::create_directories(folder);
  for (std::size_t i = 0; i < most_remembered_runs + 30; ++i) {
    const auto path = folder + "/" + std::to_string(i) + ".run";
    std::ofstream(path) << "/nowhere\n";
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(24));
  }
  const auto kept = place.store({.folder = "kept"});
  EXPECT_EQ(static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {})),
            most_remembered_runs);
  EXPECT_EQ(known_runs(place.system), RunDirs({kept}));
}

TEST(RunIndex, TheShortestWordThatFindsARun) {
  RunPlace place;
  const auto dated = place.store({.folder = "a/runs/train-20261121-101500-x1y2"});
  EXPECT_EQ(word_for_run(place.system, dated), "train-20261121-101500-x1y2");
  const auto other = place.path_of("b/runs/train-20261121-101500-x1y2");
  EXPECT_EQ(word_for_run(place.system, other), other) << "it is not in the index";
  const auto undated = place.store({.folder = "a/train"});
  EXPECT_EQ(word_for_run(place.system, undated), undated) << "a job may be called that, too";
  place.system.variables.clear();
  EXPECT_EQ(word_for_run(place.system, dated), dated);
}

TEST(RunIndex, NamesOfRuns) {
  EXPECT_EQ(name_in_run("a-b-20261121-101500-x1y2"), "a-b");
  EXPECT_EQ(name_in_run("20261121-101500-x1y2"), "20261121-101500-x1y2");
  EXPECT_EQ(name_in_run("my-folder-of-many-words-here"), "my-folder-of-many-words-here");
}

TEST(RunIndex, WhereItLies) {
  FakeSystem system;
  EXPECT_FALSE(run_index_folder(system));
  EXPECT_FALSE(remember_run(system, {.path = "/r"}));
  system.variables["HOME"] = "/home/me";
  EXPECT_EQ(run_index_folder(system), "/home/me/.local/state/dllaunch/runs");
  system.variables["XDG_STATE_HOME"] = "relative";
  EXPECT_EQ(run_index_folder(system), "/home/me/.local/state/dllaunch/runs");
  system.variables["XDG_STATE_HOME"] = "/state";
  EXPECT_EQ(run_index_folder(system), "/state/dllaunch/runs");
}

TEST(RunIndex, AReadOnlyHomeIsSaidAndNoMore) {
  FakeSystem system;
  system.variables["XDG_STATE_HOME"] = "/proc/self";
  const auto known = remember_run(system, {.path = "/r"});
  ASSERT_FALSE(known);
  EXPECT_NE(known.error().what.find("/proc/self/dllaunch/runs"), std::string::npos);
  EXPECT_EQ(known_runs(system), RunDirs());
}

}  // namespace
}  // namespace dllaunch

// The table of a run directory's files against the source; local_run_test.cpp and
// slurm_run_test.cpp compare it with real runs.
#include "launcher/run/run_dir_files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

/// The lines of what is compiled or rendered, but of the table itself, that may name a file.
std::vector<std::string> lines_of_source() {
  std::vector<std::string> lines;
  for (const char* folder : {"support", "runtime", "trainer", "launcher", "templates"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(DLLAUNCH_SOURCE_DIR) / folder)) {
      if (!entry.is_regular_file() || entry.path().stem() == "run_dir_files") continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        if (line.find_first_of("\"/") != std::string::npos) lines.push_back(line);
      }
    }
  }
  return lines;
}

TEST(RunDirFiles, AreFoundByName) {
  EXPECT_EQ(run_dir_file("job.yaml")->name, "job.yaml");
  EXPECT_EQ(run_dir_file("checkpoints")->name, "checkpoints/");
  EXPECT_EQ(run_dir_file("checkpoints.2")->name, "checkpoints.*/");
  EXPECT_EQ(run_dir_file("slurm-17_3.out")->name, "slurm-*.out");
  EXPECT_EQ(run_dir_file("task-12")->name, "task-*/");
  EXPECT_EQ(run_dir_file(".summary.json.4711.tmp")->name, ".*.tmp");
  EXPECT_EQ(run_dir_file("model.pt"), nullptr);
}

TEST(RunDirFiles, WhatTheProgramWritesThereIsSeen) {
  const TemporaryFolder folder;
  const RunDir run{.path = folder.path()};
  const auto write = [&](const std::string& name) { std::ofstream(run.path + "/" + name) << name; };
  fs::create_directories(run.out());
  const auto before = own_files(run);
  for (const char* ours : {"out/rank-0000-n1.log", "events.jsonl", ".heartbeat", "slurm-17.out"})
    write(ours);
  EXPECT_EQ(own_files(run), before);
  fs::create_directories(run.path + "/mine/epoch-1");
  fs::create_directories(run.checkpoints());
  std::set<std::uint64_t> seen = {before};
  for (const char* name : {"state.pt", "mine/epoch-1/model.pt", "checkpoints/last.pt"}) {
    write(name);
    EXPECT_TRUE(seen.insert(own_files(run)).second) << name;
  }
  EXPECT_EQ(own_files({.path = run.path + "/none"}), 0U);
}

TEST(RunDirFiles, OddOnesAreNamed) {
  const TemporaryFolder folder;
  const RunDir run{.path = folder.path()};
  for (const char* name : {"/out", "/autopsy/python", "/checkpoints", "/mine"})
    fs::create_directories(run.path + name);
  for (const char* name : {"/mine.txt", "/events.jsonl", "/out/n1.log"})
    std::ofstream(run.path + name) << name;
  for (const char* name : {"/job.yaml", "/metrics.csv", "/summary.json", "/report.html"})
    fs::create_symlink("mine.txt", run.path + name);
  fs::create_symlink("nowhere", run.path + "/mine/link");
  fs::create_directory_symlink("mine", run.path + "/timeline");
  EXPECT_EQ(odd_files(run), std::vector<std::string>()) << "what users do";

  fs::create_symlink("/dev/zero", run.path + "/plan.json");
  fs::remove(run.path + "/summary.json");
  fs::create_symlink("nowhere", run.path + "/summary.json");
  fs::create_symlink("mine.txt", run.path + "/choices.json");
  fs::create_symlink("n1.log", run.path + "/out/rank-0000-n1.log");
  fs::create_symlink("nowhere", run.path + "/autopsy/python/1.py");
  ASSERT_EQ(mkfifo((run.path + "/autopsy/1.txt").c_str(), 0600), 0);
  const std::vector<std::string> odd = {
      "autopsy/1.txt is a pipe", "choices.json is a link", "out/rank-0000-n1.log is a link",
      "plan.json is a device or a socket", "summary.json is a link to nothing"};
  EXPECT_EQ(odd_files(run), odd);
}

/// What the source names behind the path of a run's directory.
TEST(RunDirFiles, AreAllThatTheSourceNames) {
  const std::regex named(
      R"re((?:run_dir|run\.path|dir\.path|return path|folder_of\(run\)|task_dir\(plan\)))re"
      R"re( [+/] "/?([a-z.][a-z.-]*)|dllaunch_run"?/([a-z.-]+))re");
  std::set<std::string> seen;
  for (const std::string& line : lines_of_source()) {
    std::smatch match;
    if (line.find("path") == std::string::npos && line.find("run") == std::string::npos) continue;
    if (!std::regex_search(line, match, named)) continue;
    const std::string name = match[1].matched ? match[1] : match[2];
    EXPECT_NE(run_dir_file(name), nullptr) << line;
    seen.insert(name);
  }
  EXPECT_GT(seen.size(), 20u);
}

TEST(RunDirFiles, AreStillNamedByTheSource) {
  const std::vector<std::string> lines = lines_of_source();
  for (const RunDirFile& file : run_dir_files()) {
    // "slurm-", "task-", ".lease"
    const std::string name(file.name.substr(0, file.name.find_first_of("*/")));
    if (name.ends_with('.')) continue;  // made from other names
    const bool named = std::ranges::any_of(
        lines, [&](const std::string& line) { return line.find(name) != std::string::npos; });
    EXPECT_TRUE(named) << file.name;
  }
}

}  // namespace
}  // namespace dllaunch

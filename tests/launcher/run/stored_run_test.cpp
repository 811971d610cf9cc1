#include "launcher/run/stored_run.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "tests/launcher/sample_plans.hpp"
#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

TEST(StoredRun, WhatRunWroteIsRead) {
  RunPlace place;
  const auto path =
      place.store({.folder = "r", .job_id = "7;cluster", .array = "0-3%2", .trains = true});
  const auto run = read_stored_run(place.system, path);
  ASSERT_TRUE(run) << run.error().what;
  EXPECT_EQ(run->plan.name, "sleepy");
  EXPECT_EQ(run->plan.launcher, Launcher::slurm);
  EXPECT_EQ(run->plan.ranks(), 4);
  EXPECT_EQ(run->plan.signal, "USR1");
  EXPECT_EQ(run->plan.grace_seconds, 30);
  EXPECT_EQ(run->plan.array, "0-3%2");
  EXPECT_EQ(run->job_id, "7");
  EXPECT_EQ(run->epochs, 3);
  EXPECT_TRUE(run->trains);
  EXPECT_GT(run->began_at_s, 1.7e9);
  EXPECT_EQ(stored_status(*run), "");
}

TEST(StoredRun, ThePlansOfThisVersionAreUnderstood) {
  RunPlace place;
  const auto path = place.store({.folder = "r", .job_id = "7", .status = "failed"});
  const auto plan = planned(train_job(), small_cluster());
  std::ofstream(path + "/plan.json") << to_json(plan);
  const auto run = read_stored_run(place.system, path);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->plan.name, plan.name);
  EXPECT_EQ(run->plan.ranks(), plan.ranks());
  EXPECT_EQ(run->plan.signal, plan.signal);
  EXPECT_EQ(run->plan.grace_seconds, plan.grace_seconds);
  EXPECT_EQ(run->plan.sbatch.size(), plan.sbatch.size());
  EXPECT_EQ(stored_status(*run), "failed");
}

TEST(StoredRun, AnotherFolderIsNoRun) {
  RunPlace place;
  const auto run = read_stored_run(place.system, place.path_of("nothing"));
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().kind, ErrorKind::bad_request);
}

// A directory that was edited, or truncated by a full disk, is survived.
TEST(StoredRun, WhatIsTooLargeIsRefusedByName) {
  for (const char* name : {"plan.json", "train.json", "summary.json", "job.id"}) {
    RunPlace place;
    const auto path =
        place.store({.folder = "r", .job_id = "7", .status = "failed", .trains = true});
    ASSERT_TRUE(read_stored_run(place.system, path));
    std::filesystem::resize_file(path + "/" + name, std::uintmax_t{17} << 20);
    const auto run = read_stored_run(place.system, path);
    ASSERT_FALSE(run) << name;
    EXPECT_EQ(run.error().kind, ErrorKind::unavailable);
    EXPECT_TRUE(run.error().what.starts_with(path + "/" + name + " is larger than "));
  }
}

TEST(StoredRun, WhatIsNestedTooDeepIsDamage) {
  RunPlace place;
  const auto path = place.store({.folder = "r", .job_id = "7", .status = "failed"});
  constexpr std::size_t deep = 500'000;
  std::ofstream(path + "/summary.json") << R"({"status": "completed", "a": )"
                                        << std::string(deep, '[') << std::string(deep, ']') << "}";
  const auto run = read_stored_run(place.system, path);
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->summary.is_null());
}

TEST(StoredRun, DamagedFilesAreSurvived) {
  RunPlace place;
  const auto path = place.store(
      {.folder = "r", .job_id = "7", .status = "failed", .array = "0-3%2", .trains = true});
  std::vector<std::pair<std::string, std::string>> whole;
  for (const char* name : {"plan.json", "train.json", "summary.json", "job.id"}) {
    whole.emplace_back(name, *place.system.read_file(path + "/" + name));
  }
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    for (const auto& [name, good] : whole) {
      std::string text = good;
      for (auto i = random() % 3; i > 0; --i)
        text[random() % text.size()] = static_cast<char>(random() % 256);
      if (random() % 4 == 0) text.resize(random() % text.size());
      std::ofstream(path + "/" + name, std::ios::binary) << text;
    }
    const auto run = read_stored_run(place.system, path);
    if (!run) continue;
    EXPECT_GE(run->plan.nodes, 1);
    EXPECT_GE(run->plan.ranks_per_node, 1);
    EXPECT_EQ(run->job_id.find_first_not_of("0123456789"), std::string::npos);
  }
}

}  // namespace
}  // namespace dllaunch

// A job that dllaunch starts on this machine, and what it leaves.
#pragma once

#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "launcher/os/descendants.hpp"
#include "launcher/os/posix_system.hpp"
#include "tests/end_to_end/launched.hpp"

namespace dllaunch {

inline constexpr const char* tiny_local_job = R"(name: tiny
resources: {ranks_per_node: 2, device: cpu}
train:
  model: lenet
  dataset: {kind: synthetic, images: 256, classes: 10, channels: 1, image_size: 28}
  batch_size: 16
  epochs: 2
  optimizer: {lr: 0.05}
)";

inline std::set<std::string> entries_of(const std::string& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    names.insert(at->path().filename().string());
  }
  return names;
}

struct RunningTrial {
  std::string name;
  pid_t dllaunch = 0;
};

/// Of a sweep, on this machine.
inline std::vector<RunningTrial> trials_of(const std::string& sweep) {
  std::vector<RunningTrial> found;
  for (const auto& name : entries_of(sweep)) {
    if (!name.starts_with("trial-") || name.ends_with(".log")) continue;
    for (const pid_t pid : programs_of(sweep + "/" + name, "dllaunch", "run"))
      found.push_back({name, pid});
  }
  return found;
}

/// The folders that the environment of the run's processes names.
inline std::set<std::string> scratch_of(const std::string& run_dir) {
  std::set<std::string> folders;
  for (const pid_t pid : processes_of(run_dir)) {
    for (const char* name : {"OMPI_MCA_orte_tmpdir_base", "OMPI_MCA_btl_vader_backing_directory"}) {
      if (const auto folder = variable_of(pid, name)) folders.insert(*folder);
    }
  }
  return folders;
}

class LocalRun : public testing::Test {
 protected:
  void SetUp() override {
    if (!PosixSystem(Console{}).find_program("mpirun")) GTEST_SKIP() << "no mpirun on this machine";
  }

  std::string job() { return work_.file("tiny.yaml", tiny_local_job); }
  std::string command(const std::string& script) {
    return work_.file(
        "command.yaml",
        "name: command\nresources: {ranks_per_node: 2, device: cpu}\nrun: [bash, -c, '" + script +
            "']\nrecovery: {grace_seconds: 20}\n");
  }
  std::vector<std::string> args(const std::string& file, std::vector<std::string> more = {}) {
    std::vector<std::string> all = {"run", file, "--local", "--run-dir", work_.run_dir()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Json summary() { return Json::parse(work_.text_of("run/summary.json"), nullptr, false); }
  std::string log_of(int rank) {
    const std::string prefix = "rank-000" + std::to_string(rank) + "-";
    for (const auto& name : entries_of(work_.run_dir() + "/out")) {
      if (name.starts_with(prefix)) return work_.text_of("run/out/" + name);
    }
    return "";
  }
  bool steps_were_made() {
    const auto made = [this] { return events_of(work_.run_dir(), "step").size() > 3; };
    return happens_within(std::chrono::seconds(60), [&] { return made() || !work_.running(); }) &&
           made();
  }
  bool rank_is_there(int rank) {
    const auto there = [&] { return !processes_of(work_.run_dir(), rank).empty(); };
    return happens_within(std::chrono::seconds(60), [&] { return there() || !work_.running(); }) &&
           there();
  }
  void expect_books_of_two_ranks(const char* source) {
    const auto books = summary();
    EXPECT_GT(books["core_hours"], 0);
    EXPECT_EQ(books["gpu_hours"], 0) << "device: cpu";
    EXPECT_EQ(books["peak_memory_source"], source);
    ASSERT_EQ(books["peak_memory_by_rank"].size(), 2U) << books;
    for (const auto& peak : books["peak_memory_by_rank"]) {
      EXPECT_GT(peak, 1 << 20);
      EXPECT_LE(peak, books["peak_memory_bytes"]);
    }
    // Where RAPL may be read it is known.
    EXPECT_TRUE(books["energy_joules"].is_null() || books["energy_joules"] > 0);
    EXPECT_EQ(books["energy_joules"].is_null(), books["energy_source"].is_null());
    EXPECT_EQ(books["wasted"]["seconds"], 0);
  }
  void expect_nothing_left() {
    EXPECT_TRUE(all_end(work_.run_dir())) << "processes of the run are left";
  }
  /// Kills rank 1 of a training: all ranks end, and the message names it.
  void kill_a_rank() {
    work_.start(args(job(), long_run_));
    ASSERT_TRUE(steps_were_made());
    const auto victims = processes_of(work_.run_dir(), 1);
    ASSERT_EQ(victims.size(), 1u);
    kill(victims[0], SIGKILL);
    const auto ended = work_.wait(std::chrono::seconds(30));
    EXPECT_EQ(ended.exit_code, 1);
    EXPECT_THAT(ended.err, testing::HasSubstr("rank 1 on " + PosixSystem(Console{}).host_name() +
                                              " was killed by signal 9 (SIGKILL)\n  try: unless a "
                                              "user killed it, the node ran out of memory"));
    EXPECT_EQ(summary()["status"], "failed");
    expect_nothing_left();
  }

  Workplace work_;
  const std::vector<std::string> long_run_ = {"--set", "train.epochs=1000", "--set",
                                              "train.dataset.images=20000"};
};

}  // namespace dllaunch

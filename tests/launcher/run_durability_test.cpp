// What is written down of a run, and a loss of power at every moment of it.

#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <iterator>

#include "launcher/daemon/store.hpp"
#include "launcher/launch/submission.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/slurm/slurm_job.hpp"
#include "support/json.hpp"
#include "tests/launcher/disk_system.hpp"
#include "tests/support/crash_states.hpp"
#include "tests/trainer/training/run_program.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

/// What the program had noted: the last word of each kind.
struct Told {
  std::map<std::string, std::string> words = {};
  bool has(const std::string& kind) const { return words.contains(kind); }
  std::string of(const std::string& kind) const { return has(kind) ? words.at(kind) : ""; }
};

class RunDurability : public testing::Test {
 protected:
  using Judge = std::function<void(const std::string& folder, const Told& told)>;

  /// Records `what` of run_writes.cpp and judges every state that a loss of power may leave.
  void judge_all(const std::string& what, std::size_t most, const Judge& judge) {
    if (DLLAUNCH_SANITIZED) GTEST_SKIP() << "a sanitizer's library must be the first preloaded one";
    // Many small files: in memory where there is such a folder, away from a busy disk.
    if (access("/dev/shm", W_OK | X_OK) == 0) setenv("TMPDIR", "/dev/shm", 1);
    const TemporaryFolder scratch;
    const std::string folder = fs::canonical(scratch.path()) / "recorded";
    fs::create_directories(folder);
    const auto ended = run_program(
        {"env", "LD_PRELOAD=" + recorder_in(scratch.path()), "DLLAUNCH_RECORD_FOLDER=" + folder,
         "DLLAUNCH_RECORD_LOG=" + scratch.path() + "/log", DLLAUNCH_RUN_WRITES, what, folder});
    ASSERT_EQ(ended.exit_code, 0) << ended.output;
    std::ifstream in(scratch.path() + "/log", std::ios::binary);
    const std::string log(std::istreambuf_iterator<char>(in), {});
    const auto calls = parse_recorded_calls(log);
    ASSERT_GT(calls.size(), 20u);
    std::map<FileTree, std::set<std::map<std::string, std::string>>> known;
    std::size_t judged = 0;
    const auto replayed = replay_crashes(calls, most, [&](const FileTree& tree, std::size_t made) {
      if (testing::Test::HasFailure()) return;
      Told told;
      for (std::size_t i = 0; i < made; ++i) {
        if (calls[i].kind != "note") continue;
        const auto& text = calls[i].other;
        const auto blank = text.find(' ');
        told.words[text.substr(0, blank)] =
            blank == std::string::npos ? text : text.substr(blank + 1);
      }
      if (!told.has("made") || !known[tree].insert(told.words).second) return;
      ++judged;
      const TemporaryFolder after;
      write_tree(tree, after.path());
      judge(after.path(), told);
      if (testing::Test::HasFailure())
        std::cout << "after call " << made << ", " << calls[made - 1].kind << " "
                  << calls[made - 1].path << "\n";
    });
    EXPECT_EQ(replayed.errors, std::vector<std::string>());
    EXPECT_EQ(replayed.end, read_tree(folder)) << "a call was not recorded";
    std::cout << replayed.points << " moments, " << replayed.states << " states, " << judged
              << " judged; at " << replayed.sampled_points << " moments a fixed seed chose " << most
              << " of more\n";
  }
};

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_F(RunDurability, AJournalKeepsWhatWasAppended) {
  judge_all("journal", 256, [](const std::string& folder, const Told& told) {
    const RunDir run{.path = folder + "/runs/run"};
    std::size_t least = 0;
    for (std::size_t i = 1; i <= 6; ++i) {
      if (told.has(std::to_string(i))) least = i;
    }
    const auto read = read_journal(run);
    ASSERT_GE(read.history.size(), least) << text_of(run.path + "/supervisor.jsonl");
    ASSERT_LE(read.history.size(), least + 1) << "at most what was not acknowledged yet";
    for (std::size_t i = 0; i < read.history.size(); ++i)
      EXPECT_EQ(read.history[i].job, std::to_string(i + 1));
    if (told.has("finished")) {
      EXPECT_EQ(finished_in_job(run), "6");
    }
    // A line appended after a torn line is not lost.
    ASSERT_TRUE(append_to_journal(run, line_of(JournalAttempt{.time = 9, .job = "next"})));
    const auto next = read_journal(run);
    ASSERT_EQ(next.history.size(), read.history.size() + 1);
    EXPECT_EQ(next.history.back().job, "next");
  });
}

/// The job's number, or the intent by which the next start finds it; and all that the job reads.
TEST_F(RunDurability, ASubmittedJobIsNotLost) {
  judge_all("run", 64, [](const std::string& folder, const Told& told) {
    DiskSystem system;
    const RunDir run{.path = folder + "/runs/run"};
    for (const auto& path : {run.plan_json(), run.train_json(), run.job_json()}) {
      const auto text = text_of(path);
      EXPECT_TRUE(text.empty() || Json::accept(text)) << path << ": " << text;
    }
    if (!told.has("submitted")) return;
    const auto submitted = told.of("submitted");
    const auto number = submitted.substr(0, submitted.find(' '));
    const auto token = submitted.substr(submitted.find(' ') + 1);
    const auto intent = open_intent(system, run);
    const bool looked_for = intent && intent->token == token;
    EXPECT_TRUE(looked_for || text_of(run.job_id()) == number + "\n")
        << "job.id: " << text_of(run.job_id());
    const auto train = Json::parse(text_of(run.train_json()), nullptr, false);
    ASSERT_TRUE(train.is_object());
    EXPECT_GE(train["epochs"], std::stoi(number)) << "or already the next one's";
    EXPECT_TRUE(text_of(run.sbatch_script()).starts_with("#!/bin/bash\n"));
    for (const auto& path : {run.plan_json(), run.job_yaml()}) EXPECT_NE(text_of(path), "") << path;
  });
}

/// The same of the daemon's: its store knows the job, or the submission is open there.
TEST_F(RunDurability, WhatTheDaemonSubmittedIsNotLost) {
  judge_all("daemon", 64, [](const std::string& folder, const Told& told) {
    if (!told.has("known")) return;
    auto store = Store::open(folder + "/runs/store.db", 1);
    ASSERT_TRUE(store) << store.error().what;
    const auto record = (*store)->find("r");
    ASSERT_TRUE(record && *record);
    if (!told.has("submitted")) return;
    const auto submitted = told.of("submitted");
    const auto number = submitted.substr(0, submitted.find(' '));
    const auto token = submitted.substr(submitted.find(' ') + 1);
    const auto open = (*store)->open_submissions();
    ASSERT_TRUE(open);
    if (!open->empty() && open->front().token == token) return;
    // Or the next one's is, which was meant but did not come to its sbatch.
    EXPECT_TRUE(open->empty() || open->front().judged == number);
    EXPECT_EQ((*record)->job_id, number);
    // Another number in there would be taken for what the user submitted since.
    EXPECT_EQ(text_of(folder + "/runs/run/job.id"), number + "\n");
  });
}

}  // namespace
}  // namespace dllaunch

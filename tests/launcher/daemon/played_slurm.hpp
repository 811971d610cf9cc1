// A Slurm that is played, and the rounds of a daemon over it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "launcher/daemon/run_watch.hpp"
#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {

/// A Slurm of jobs by their number, and the daemon's rounds over them.
class PlayedSlurm : public testing::Test {
 protected:
  struct Job {
    std::string state = "RUNNING";
    std::string nodes = "n1";
    std::string exit = "0:0";
    std::string by = {};  // uid
    std::string start = "Unknown";
    std::string end = "Unknown";
  };

  void SetUp() override {
    store_ = *Store::open(place_.path_of("store.db"), 1);
    place_.system.programs = {"sbatch", "squeue", "sacct", "scontrol", "scancel", "sh"};
    place_.system.respond = [this](const auto& argv) { return slurm(argv); };
    watch_ = std::make_unique<RunWatch>(place_.system, *store_,
                                        DaemonPaths{.folder = place_.path_of("")},
                                        DaemonSettings{.notify = "tell"});
  }

  std::optional<Result<CommandOutput>> slurm(const std::vector<std::string>& argv) {
    const auto answer = [](const std::string& text) {
      return Result<CommandOutput>(CommandOutput{.exit_code = 0, .out = text, .err = ""});
    };
    const bool asks_jobs = argv[0] == "squeue" || (argv[0] == "scontrol" && argv[1] == "show");
    if (mute_ && (argv[0] == "sacct" || (argv[0] == "scontrol" && argv[1] == "show")))
      return Error{ErrorKind::timeout, "it did not end within 20 s", ""};
    if (silent_ && asks_jobs)
      return CommandOutput{.exit_code = 1, .out = "", .err = "Unable to contact slurm controller"};
    if (argv[0] == "squeue") return answer(queue(argv.back()));
    if (argv[0] == "sbatch") {
      if (refuses_)
        return CommandOutput{.exit_code = 1, .out = "", .err = "Batch job submission failed: no"};
      const auto id = std::to_string(next_++);
      jobs_[id] = {.state = "PENDING"};
      if (loses_answers_) return Error{ErrorKind::timeout, "sbatch did not end within 60 s", ""};
      return answer(id + "\n");
    }
    if (argv[0] == "scontrol" && argv[1] == "show" && argv[2] == "job") return answer(job(argv[3]));
    if (argv[0] == "scontrol" && argv[1] == "show" && argv[2] == "node") return answer(nodes_);
    if (argv[0] == "scontrol" || argv[0] == "scancel") return answer("");
    if (argv[0] == "sacct") return answer(accounting());
    if (argv[0] == "sh") return answer("");
    return std::nullopt;
  }
  /// `which`: "--me" or "--jobs=10"
  std::string queue(const std::string& which) const {
    std::string text;
    for (const auto& [id, job] : jobs_)
      if ((which == "--me" || which == "--jobs=" + id) &&
          (job.state == "RUNNING" || job.state == "PENDING"))
        text += id + "|" + job.state + "|N/A|0:05|" + (job.state == "RUNNING" ? job.nodes : "") +
                "|None\n";
    return text;
  }
  std::string job(const std::string& id) {
    const auto& one = jobs_[id];
    return "JobId=" + id + " JobName=x\n   JobState=" + one.state +
           " Reason=None\n   ExitCode=" + one.exit + "\n   StartTime=" + one.start +
           " EndTime=" + one.end + " SubmitTime=" + one.start + "\n   NodeList=" + one.nodes + "\n";
  }
  std::string accounting() const {
    std::string text;
    for (const auto& [id, one] : jobs_)
      text += id + "|" + one.state + (one.by.empty() ? "" : " by " + one.by) + "|" + one.exit +
              "|" + one.start + "|" + one.start + "|" + one.end + "\n";
    return text;
  }

  std::string add(const std::string& folder, const std::string& id, const std::string& more = "") {
    const auto dir = place_.store({.folder = folder, .job_id = id, .trains = true});
    std::ofstream(dir + "/job.sbatch") << "#!/bin/bash\n" << more << "\ntrue\n";
    std::ofstream(dir + "/job.yaml") << "name: x\ntrain: {model: lenet, dataset: {kind: synthetic, "
                                        "images: 64, classes: 10, channels: 1, image_size: 28}}\n";
    jobs_[id] = {};
    return dir;
  }
  static void save_checkpoint(const std::string& dir) {
    std::filesystem::create_directories(dir + "/checkpoints/step-00000001");
    std::filesystem::last_write_time(
        dir + "/checkpoints/step-00000001",
        std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));
  }
  void look(int times = 1) {
    for (int i = 0; i < times; ++i) watch_->look(now_s_ += 10);
  }
  RunRecord run(const std::string& name) { return **store_->find(name); }
  int ran(const std::string& program, const std::string& word = "") const {
    int count = 0;
    for (const auto& argv : place_.system.ran)
      if (argv[0] == program &&
          (word.empty() || std::find(argv.begin(), argv.end(), word) != argv.end()))
        ++count;
    return count;
  }

  RunPlace place_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<RunWatch> watch_;
  std::map<std::string, Job> jobs_;
  std::string nodes_;
  bool silent_ = false;
  bool loses_answers_ = false;
  bool refuses_ = false;
  bool mute_ = false;  // squeue answers, who knows of ended jobs does not
  int next_ = 100;
  double now_s_ = 2e9;
};

}  // namespace dllaunch

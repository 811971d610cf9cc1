// A `dllaunch` that was started by a test: watched, signalled, waited for with a deadline.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launcher/os/owned_process.hpp"
#include "support/json.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {

struct Ended {
  int exit_code = -1;  // -1: it did not end in time, and was killed
  std::string out;
  std::string err;
};

/// A folder to work in, with a job file in it, and everything that was started there.
class Workplace {
 public:
  Workplace() : path_(folder_.path()) {}
  /// There, made where it is not; it stays.
  explicit Workplace(const std::string& path);

  const std::string& path() const { return path_; }
  std::string run_dir() const { return path() + "/run"; }

  /// Writes NAME in the folder; returns its path.
  std::string file(const std::string& name, const std::string& text) const;
  std::string text_of(const std::string& name) const;
  /// The run's Slurm job; sbatch --test-only takes a number too, so it is never known before.
  std::string job_id() const;

  /// Variables for what is started next.
  std::vector<std::pair<std::string, std::string>> environment;
  /// Words before `dllaunch`: how to get onto a cluster's login node.
  std::vector<std::string> before;
  /// Another dllaunch than the built one; empty: that one.
  std::string program;

  /// Starts `dllaunch ARGS...` in the folder.
  void start(const std::vector<std::string>& args);
  void signal(int number) const { process_->send(number); }
  pid_t pid() const { return process_->pid(); }
  bool running() { return process_ && !process_->poll(); }
  Ended wait(std::chrono::seconds limit = std::chrono::seconds(90));
  /// The same as run() from another folder, as the same user.
  Ended run_in(const std::string& folder, const std::vector<std::string>& args);
  Ended run(const std::vector<std::string>& args) {
    start(args);
    return wait();
  }

 private:
  TemporaryFolder folder_;
  std::string path_;
  std::optional<OwnedProcess> process_;
};

/// Every process of a run on this machine, by its DLLAUNCH_RUN_DIR; with `rank` only that one's.
std::vector<pid_t> processes_of(const std::string& run_dir, std::optional<int> rank = {});

/// The programs on this machine that name the run, by the end of their first word and the beginning
/// of their second: "/dllaunch", "supervise". The oldest first.
std::vector<pid_t> programs_of(const std::string& run_dir, const std::string& program,
                               const std::string& word);

/// The lines of events.jsonl of one kind.
std::vector<Json> events_of(const std::string& run_dir, const std::string& kind);

/// The names in a run's directory that `dllaunch help run-directory` does not explain.
std::vector<std::string> unexplained_files(const std::string& run_dir);

void pause_briefly();

/// Limits are those of an idle machine of two cores. CI's may be three times as slow, and does
/// other tests' work at the same time: there everything may take this many times as long.
constexpr int patience = 4;

template <typename Condition>
bool happens_within(std::chrono::seconds limit, Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + patience * limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    pause_briefly();
  }
  return true;
}

/// Epochs for a training that is to be there for a few seconds, whatever happens to it, and then to
/// complete: at least five, more where they are short. Of 64 steps of LeNet, on the backend
/// `reference`, with 8 images a rank; measured once, by the CPU's time, as other tests run beside.
/// A training that need not complete has a million epochs, and is ended by the test.
int epochs_of_seconds();

/// Those that a signal has killed may be in sight for a moment.
inline bool all_end(const std::string& run_dir) {
  return happens_within(std::chrono::seconds(5), [&] { return processes_of(run_dir).empty(); });
}

}  // namespace dllaunch

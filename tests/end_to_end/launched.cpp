#include "tests/end_to_end/launched.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "launcher/os/descendants.hpp"
#include "launcher/os/posix_system.hpp"
#include "launcher/run/run_dir_files.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

/// As far as it goes: a process may end while its files in /proc are read: iterators throw then.
std::string read_whole(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

void pause_briefly() {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

int epochs_of_seconds() {
  constexpr double seconds_after_the_first = 1.5;
  static const int epochs = [] {
    const auto cpu_seconds = [](int steps) {
      const TemporaryFolder folder;
      std::ofstream(folder.path() + "/train.json")
          << R"({"model": "lenet", "backend": "reference", "batch_size": 8, "validate_every": 0,
                 "dataset": {"kind": "synthetic", "images": 512, "workers": 1},
                 "checkpoint": {"every_epochs": null}, "max_steps": )"
          << steps << "}";
      rusage before{};
      rusage after{};
      getrusage(RUSAGE_CHILDREN, &before);
      const auto trained =
          PosixSystem(Console{}).run({"env", "OMP_NUM_THREADS=1", DLLAUNCH_BIN_DIR "/dltrain",
                                      "--config", folder.path() + "/train.json"},
                                     std::chrono::seconds(120));
      getrusage(RUSAGE_CHILDREN, &after);
      EXPECT_TRUE(trained && trained->exit_code == 0) << (trained ? trained->err : "");
      return static_cast<double>(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
             1e-6 * static_cast<double>(after.ru_utime.tv_usec - before.ru_utime.tv_usec);
    };
    const double epoch = cpu_seconds(64) - cpu_seconds(1);
    return 1 + static_cast<int>(std::clamp(seconds_after_the_first / epoch, 4.0, 400.0));
  }();
  return epochs;
}

Workplace::Workplace(const std::string& path) : path_(path) {
  fs::create_directories(path);
}

std::string Workplace::file(const std::string& name, const std::string& text) const {
  std::ofstream(path() + "/" + name) << text;
  return path() + "/" + name;
}

std::string Workplace::text_of(const std::string& name) const {
  return read_whole(path() + "/" + name);
}

std::string Workplace::job_id() const {
  const auto text = text_of("run/job.id");
  return text.substr(0, text.find('\n'));
}

void Workplace::start(const std::vector<std::string>& args) {
  // The shell gives it the folder and two files, and is gone.
  std::vector<std::string> argv = {"sh", "-c", "cd \"$0\" && exec \"$@\" >stdout 2>stderr", path()};
  argv.insert(argv.end(), before.begin(), before.end());
  argv.push_back(program.empty() ? std::string(DLLAUNCH_BIN_DIR) + "/dllaunch" : program);
  argv.insert(argv.end(), args.begin(), args.end());
  process_.reset();
  // What is run here is not to be found among its user's own runs.
  auto variables = environment;
  variables.emplace_back("XDG_STATE_HOME", path() + "/state");
  auto started = OwnedProcess::start({.program = "/bin/sh",
                                      .argv = argv,
                                      .environment = variables,
                                      .output_path = path() + "/started"});
  if (started) process_.emplace(*std::move(started));
}

Ended Workplace::run_in(const std::string& folder, const std::vector<std::string>& args) {
  const auto here = before;
  before.insert(before.end(), {"sh", "-c", "cd \"$0\" && exec \"$@\"", folder});
  auto ended = run(args);
  before = here;
  return ended;
}

Ended Workplace::wait(std::chrono::seconds limit) {
  Ended ended;
  if (process_ && happens_within(limit, [this] { return process_->poll().has_value(); })) {
    ended.exit_code = *process_->poll();
  }
  process_.reset();
  ended.out = text_of("stdout");
  ended.err = text_of("started") + text_of("stderr");
  return ended;
}

std::vector<pid_t> processes_of(const std::string& run_dir, std::optional<int> rank) {
  std::vector<pid_t> found;
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const pid_t pid = std::atoi(at->path().filename().c_str());
    if (pid <= 0 || variable_of(pid, "DLLAUNCH_RUN_DIR") != run_dir) continue;
    if (rank && variable_of(pid, "RANK") != std::to_string(*rank)) continue;
    found.push_back(pid);
  }
  return found;
}

std::vector<pid_t> programs_of(const std::string& run_dir, const std::string& program,
                               const std::string& word) {
  std::vector<pid_t> found;
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const auto line = read_whole(at->path() / "cmdline");
    const std::string first = line.substr(0, line.find('\0'));
    const auto second = line.substr(std::min(first.size() + 1, line.size()));
    if (first.ends_with(program) && second.starts_with(word) &&
        line.find(run_dir + '\0') != std::string::npos)
      found.push_back(std::atoi(at->path().filename().c_str()));
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<Json> events_of(const std::string& run_dir, const std::string& kind) {
  std::vector<Json> found;
  std::ifstream file(run_dir + "/events.jsonl");
  for (std::string line; std::getline(file, line);) {
    auto event = Json::parse(line, nullptr, false);
    if (event.is_object() && event.value("event", "") == kind) found.push_back(std::move(event));
  }
  return found;
}

std::vector<std::string> unexplained_files(const std::string& run_dir) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(run_dir, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (run_dir_file(name) == nullptr) found.push_back(name);
  }
  return found;
}

}  // namespace dllaunch

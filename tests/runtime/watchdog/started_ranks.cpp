#include "tests/runtime/watchdog/started_ranks.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace dllaunch {
namespace {

using std::chrono::milliseconds;

bool lives(pid_t pid) {
  if (pid <= 0) return false;
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(stat, text)) return false;
  const auto name_end = text.rfind(')');
  return name_end != std::string::npos && text[name_end + 2] != 'Z' && text[name_end + 2] != 'X';
}

}  // namespace

StartedRanks::StartedRanks(int ranks, const std::vector<std::string>& argv)
    : processes_(static_cast<std::size_t>(ranks), -1) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
  std::vector<char*> arguments;
  for (const auto& word : argv) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  starter_ = fork();
  if (starter_ == 0) {
    setpgid(0, 0);
    setenv("TMPDIR", session_.path().c_str(), 1);
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  output_ = ends[0];
  fcntl(output_, F_SETFL, O_NONBLOCK);
}

StartedRanks::~StartedRanks() {
  for (const pid_t pid : processes_) {
    if (lives(pid)) kill(pid, SIGKILL);
  }
  if (!code_) {
    kill(-starter_, SIGKILL);
    waitpid(starter_, nullptr, 0);
  }
  close(output_);
  // An mpirun that ends a moment later makes its session, and all folders above it, again.
  std::error_code ignored;
  for (const auto until = Clock::now() + std::chrono::seconds(10); Clock::now() < until;) {
    std::filesystem::remove_all(session_.path(), ignored);
    std::this_thread::sleep_for(milliseconds(200));
    if (!std::filesystem::exists(session_.path(), ignored)) break;
  }
}

void StartedRanks::take(const std::string& line) {
  lines_.push_back({line, Clock::now()});
  int rank = -1;
  int pid = -1;
  if (std::sscanf(line.c_str(), "rank %d is process %d", &rank, &pid) != 2) return;
  if (rank >= 0 && rank < static_cast<int>(processes_.size()))
    processes_[static_cast<std::size_t>(rank)] = pid;
}

void StartedRanks::read(milliseconds patience) {
  pollfd look{.fd = output_, .events = POLLIN, .revents = 0};
  if (poll(&look, 1, static_cast<int>(patience.count())) <= 0) return;
  char piece[4096];
  const ssize_t count = ::read(output_, piece, sizeof piece);
  if (count <= 0) {
    std::this_thread::sleep_for(std::min(patience, milliseconds(20)));
    return;
  }
  rest_.append(piece, static_cast<std::size_t>(count));
  for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
    take(rest_.substr(0, end));
    rest_.erase(0, end + 1);
  }
}

bool StartedRanks::are_up() {
  const auto until = Clock::now() + std::chrono::seconds(60);
  const auto all_up = [&] {
    return std::ranges::all_of(processes_, [](pid_t pid) { return pid > 0; });
  };
  while (!all_up() && Clock::now() < until && !wait(std::chrono::seconds(0))) {
    read(milliseconds(50));
  }
  return all_up();
}

std::optional<StartedRanks::Line> StartedRanks::find_line(
    const std::function<bool(const std::string&)>& wanted, Clock::time_point from,
    Clock::time_point until) {
  std::size_t seen = 0;
  while (true) {
    for (; seen < lines_.size(); ++seen) {
      if (lines_[seen].at >= from && wanted(lines_[seen].text)) return lines_[seen];
    }
    if (Clock::now() >= until) return std::nullopt;
    read(milliseconds(20));
  }
}

void StartedRanks::listen(milliseconds time) {
  for (const auto until = Clock::now() + time; Clock::now() < until;) read(milliseconds(20));
}

std::optional<int> StartedRanks::wait(std::chrono::seconds limit) {
  const auto until = Clock::now() + limit;
  while (!code_) {
    int status = 0;
    if (waitpid(starter_, &status, WNOHANG) == starter_) {
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else if (Clock::now() >= until) {
      return std::nullopt;
    } else {
      read(milliseconds(20));
    }
  }
  return code_;
}

bool StartedRanks::ranks_gone(milliseconds limit) {
  const auto until = Clock::now() + limit;
  while (std::ranges::any_of(processes_, lives)) {
    if (Clock::now() >= until) return false;
    read(milliseconds(20));
  }
  return true;
}

bool StartedRanks::all_gone(milliseconds limit) {
  const auto until = Clock::now() + limit;
  if (!ranks_gone(limit)) return false;
  while (!wait(std::chrono::seconds(0))) {
    if (Clock::now() >= until) return false;
    read(milliseconds(20));
  }
  return true;
}

std::string StartedRanks::text() const {
  std::string all;
  for (const auto& line : lines_) all += line.text + "\n";
  return all + rest_;
}

std::string stalling_ranks_program() {
  return std::string(DLLAUNCH_BIN_DIR) + "/stalling_ranks";
}

std::vector<std::string> on_this_machine(int ranks, std::vector<std::string> command) {
  std::vector<std::string> argv = {"mpirun",
                                   "--allow-run-as-root",
                                   "--oversubscribe",
                                   "--bind-to",
                                   "none",
                                   "--mca",
                                   "mpi_yield_when_idle",
                                   "1",
                                   "-np",
                                   std::to_string(ranks),
                                   stalling_ranks_program()};
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

bool has_mpirun() {
  return std::system("command -v mpirun >/dev/null 2>&1") == 0;
}

}  // namespace dllaunch

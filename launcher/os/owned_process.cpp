#include "launcher/os/owned_process.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace dllaunch {
namespace {

/// Our environment, with the request's variables replaced.
std::vector<std::string> merged_environment(const ProcessRequest& request) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& [added, value] : request.environment) replaced = replaced || added == name;
    if (!replaced) merged.emplace_back(text);
  }
  for (const auto& [name, value] : request.environment) {
    merged.push_back(name);
    merged.back().append("=").append(value);
  }
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& arguments) {
  std::vector<char*> all;
  all.reserve(arguments.size() + 1);
  for (auto& word : arguments) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

struct Streams {
  int input = -1;   // -1: /dev/null
  int output = -1;  // -1: inherited
  int error = -1;
};

/// Runs in the child between fork and exec: system calls only.
[[noreturn]] void become(const char* program, char* const* argv, char* const* environment,
                         const Streams& streams, int report, int signal_at_death, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, signal_at_death);
  if (getppid() != parent) _exit(127);  // it died before the line above
  setpgid(0, 0);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (streams.input >= 0) {
    dup2(streams.input, STDIN_FILENO);
  } else {
    close(STDIN_FILENO);
    open("/dev/null", O_RDONLY);  // gets the lowest number, that of the input
  }
  if (streams.output >= 0) dup2(streams.output, STDOUT_FILENO);
  dup2(streams.error, STDERR_FILENO);
  execve(program, argv, environment);
  const int error = errno;
  const ssize_t ignored = write(report, &error, sizeof error);
  _exit(ignored == sizeof error ? 127 : 126);
}

}  // namespace

Result<OwnedProcess> OwnedProcess::start(const ProcessRequest& request) {
  const bool to_file = !request.output_path.empty();
  const int output =
      to_file ? open(request.output_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)
              : -1;
  if (to_file && output < 0) {
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot write {}: {}", request.output_path, std::strerror(errno)), ""};
  }
  std::array<int, 2> report{};
  if (pipe2(report.data(), O_CLOEXEC) != 0) {
    if (to_file) close(output);
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot create a pipe: {}", std::strerror(errno)), ""};
  }
  auto arguments = request.argv;
  auto variables = merged_environment(request);
  const auto argv = pointers(arguments);
  const auto environment = pointers(variables);

  const Streams streams{.input = request.input_fd,
                        .output = to_file ? output : request.output_fd,
                        .error = to_file ? output : request.error_fd};
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    become(request.program.c_str(), argv.data(), environment.data(), streams, report[1],
           request.signal_at_our_death, parent);
  }
  int error = pid < 0 ? errno : 0;
  if (to_file) close(output);
  close(report[1]);
  // A successful exec closes the pipe: read() returns 0.
  if (pid > 0 && read(report[0], &error, sizeof error) == sizeof error) waitpid(pid, nullptr, 0);
  close(report[0]);
  if (error != 0) {
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot start {}: {}", request.program, std::strerror(error)), ""};
  }
  return OwnedProcess(pid);
}

OwnedProcess::OwnedProcess(pid_t pid)
    : pid_(pid), end_fd_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}

std::optional<int> OwnedProcess::poll() {
  if (status_) return status_;
  int status = 0;
  rusage used{};
  const pid_t got = wait4(pid_, &status, WNOHANG, &used);
  if (got == pid_) {
    peak_memory_bytes_ = std::int64_t{used.ru_maxrss} * 1024;
    status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  } else if (got < 0 && errno == ECHILD) {
    status_ = 1;  // reaped elsewhere: the status is lost, and 0 would mean success
  }
  return status_;
}

void OwnedProcess::send(int signal) const {
  if (!status_) kill(pid_, signal);
}

OwnedProcess::~OwnedProcess() {
  const bool runs = pid_ >= 0 && !poll();
  if (runs) kill(-pid_, SIGKILL);
  pollfd ended = {.fd = end_fd_, .events = POLLIN, .revents = 0};
  // A process blocked in a dead file system cannot be waited for.
  for (int i = 0; runs && i < 200 && !poll(); ++i) ::poll(&ended, 1, 10);
  if (end_fd_ >= 0) close(end_fd_);
}

}  // namespace dllaunch

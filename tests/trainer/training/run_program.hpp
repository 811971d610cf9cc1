// Runs programs in tests and returns their output and exit code.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace dllaunch {

/// A running program, with stdout and stderr merged. Killed by the destructor.
class RunningProgram {
 public:
  explicit RunningProgram(const std::vector<std::string>& argv) {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
    std::vector<char*> arguments;
    for (const auto& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      dup2(ends[1], STDERR_FILENO);
      execvp(arguments[0], arguments.data());
      _exit(127);
    }
    close(ends[1]);
    output_ = ends[0];
  }
  ~RunningProgram() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(output_);
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  pid_t pid() const { return pid_; }

  struct Ended {
    int exit_code = 0;  // 128 + n: ended by signal n
    std::string output;
  };

  Ended wait() {
    Ended ended;
    char piece[4096];
    for (ssize_t count = 0; (count = read(output_, piece, sizeof piece)) > 0;) {
      ended.output.append(piece, static_cast<std::size_t>(count));
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    ended.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return ended;
  }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

inline RunningProgram::Ended run_program(const std::vector<std::string>& argv) {
  return RunningProgram(argv).wait();
}

inline bool have_mpirun() {
  static const bool have = run_program({"mpirun", "--version"}).exit_code == 0;
  return have;
}

/// mpirun for tests: allows root, and more ranks than cores, which yield while waiting.
inline std::vector<std::string> on_ranks(int ranks, std::vector<std::string> command) {
  std::vector<std::string> argv{"mpirun",
                                "--allow-run-as-root",
                                "--oversubscribe",
                                "--bind-to",
                                "none",
                                "--mca",
                                "mpi_yield_when_idle",
                                "1",
                                "-np",
                                std::to_string(ranks)};
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

/// Rank 0 gets `first` as its last argument, rank 1 `second`. Not by "mpirun A : B", at which
/// Debian 13's mpirun (Open MPI 5.0.7) crashes.
inline std::vector<std::string> on_two_ranks(std::vector<std::string> command,
                                             const std::string& first, const std::string& second) {
  const std::vector<std::string> chooser = {
      "sh", "-c",
      "first=$0; second=$1; shift; [ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = 0 ] || "
      "first=$second; "
      "exec \"$@\" \"$first\"",
      first, second};
  command.insert(command.begin(), chooser.begin(), chooser.end());
  return on_ranks(2, std::move(command));
}

}  // namespace dllaunch

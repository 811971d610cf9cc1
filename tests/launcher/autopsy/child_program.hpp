// Children of a test, stopped in functions that the test knows.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "launcher/os/descendants.hpp"
#include "tests/support/rest.hpp"

namespace dllaunch {

/// Waits until `root` and all below it sleep.
inline bool all_come_to_rest(pid_t root) {
  return come_to_rest([root] {
    std::vector<pid_t> processes = {root};
    for (const Descendant& each : descendants_of(root)) processes.push_back(each.pid);
    return processes;
  });
}

/// A child that does `work`, which writes a letter into the file it is given before it comes to
/// rest.
class ChildProgram {
 public:
  template <typename Work>
  explicit ChildProgram(Work work, bool waits = true) {
    int said[2] = {-1, -1};
    if (pipe(said) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      // Some tests read it by a process that is no ancestor, which Yama at 1 allows only then.
      prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
      close(said[0]);
      work(said[1]);
      _exit(0);
    }
    close(said[1]);
    said_ = said[0];  // kept open: it may say more
    if (waits) ready_ = says() && all_come_to_rest(pid_);
  }
  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;
  ~ChildProgram() {
    end();
    if (said_ >= 0) close(said_);
  }

  int pid() const { return pid_; }
  /// Whether it has said so and come to rest.
  bool ready() const { return ready_; }
  /// Waits until it says something.
  bool says() const {
    char letter = 0;
    return read(said_, &letter, 1) == 1;
  }
  void end() {
    if (pid_ <= 0) return;
    const auto below = descendants_of(pid_);
    kill(pid_, SIGKILL);
    for (const Descendant& each : below) kill(each.pid, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  /// Its exit code, when it has ended by itself.
  int wait() {
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  /// Returns once it has stopped.
  void stop() const {
    kill(pid_, SIGSTOP);
    waitpid(pid_, nullptr, WUNTRACED);
  }

 private:
  int pid_ = -1;
  int said_ = -1;
  bool ready_ = false;
};

/// Runs `argv` with `variables`, which prints "ready" before it comes to rest.
inline auto program(std::vector<std::string> argv,
                    std::vector<std::pair<std::string, std::string>> variables = {}) {
  return [argv = std::move(argv), variables = std::move(variables)](int ready) mutable {
    dup2(ready, STDOUT_FILENO);
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> words;
    for (std::string& word : argv) words.push_back(word.data());
    words.push_back(nullptr);
    execvp(words[0], words.data());
  };
}

}  // namespace dllaunch

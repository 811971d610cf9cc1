// A run whose ranks are a shell script: everything about supervision that needs no Slurm.
#pragma once

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "launcher/os/posix_system.hpp"
#include "launcher/supervise/supervisor.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {

class Supervised {
 public:
  /// What its jobs see of nodes is not for the user's own book.
  Supervised() {
    std::filesystem::create_directories(dir().out());
    setenv("DLLAUNCH_NODE_BOOK", book().c_str(), 1);
  }
  std::string book() const { return folder_.path() + "/nodes.jsonl"; }

  RunDir dir() const { return {.path = folder_.path()}; }

  /// bash runs it for all ranks, in the run's directory; $n is the number of the start.
  SupervisedRun run(const std::string& script, RecoverySettings recovery) const {
    const std::string counted = "cd '" + folder_.path() +
                                "'; n=$(($(cat starts 2> /dev/null || echo 0) + 1)); "
                                "echo $n > starts; ";
    return {.dir = dir(),
            .recovery = recovery,
            .signal = SIGUSR2,
            .start = start_command_of({"bash", "-c", counted + script}),
            .program = "/bin/bash",
            .allocation = {}};
  }

  int starts() const {
    int count = 0;
    std::ifstream(folder_.path() + "/starts") >> count;
    return count;
  }

  void file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() + "/" + name) << text;
  }

  PosixSystem system{Console{}};

 private:
  TemporaryFolder folder_;
};

/// Of a command whose job file has a `recovery:` block.
inline RecoverySettings command_recovery(int max_restarts) {
  return {.plan = {.max_restarts = max_restarts, .requeue_on = {}},
          .trains = false,
          .asks_ranks = true,
          .grace_seconds = 5};
}

}  // namespace dllaunch

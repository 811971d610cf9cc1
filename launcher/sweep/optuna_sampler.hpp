// Samplers of Python's Optuna.
#pragma once

#include <chrono>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/job/job.hpp"
#include "launcher/os/owned_process.hpp"
#include "launcher/os/system.hpp"
#include "launcher/sweep/space.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// unavailable: no python3, no Optuna, or no such sampler.
Result<Ok> check_optuna(System& system, const JobSweep& wanted);

/// A sampler that is about to add a trial to the journal, in a process of its own.
class OptunaAsk {
 public:
  /// Asks for trial `number`. unavailable: python3 cannot be started.
  static Result<OptunaAsk> start(System& system, const std::string& journal,
                                 const std::string& study, const std::vector<Parameter>& space,
                                 const JobSweep& wanted, int number);

  OptunaAsk(OptunaAsk&&) = default;
  OptunaAsk& operator=(OptunaAsk&&) = delete;
  /// Kills it if it still runs, and removes the journal's lock if it left that.
  ~OptunaAsk();

  /// nullopt: it has not answered. unavailable: Optuna's last words, or none for two minutes.
  std::optional<Result<Ok>> poll();

 private:
  OptunaAsk(OwnedProcess process, std::string sampler, std::string journal);

  std::unique_ptr<OwnedProcess> process_;  // nullptr: moved from
  std::string sampler_;
  std::string journal_;
  std::string words_;      // a file
  timespec began_file_{};  // by the clock of its file system
  bool answered_ = false;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

/// templates/optuna_ask.py, compiled in.
std::string_view optuna_script();

}  // namespace dllaunch

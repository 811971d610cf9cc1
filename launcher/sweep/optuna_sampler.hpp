// Samplers of Python's Optuna.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/job/job.hpp"
#include "launcher/os/system.hpp"
#include "launcher/sweep/space.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// unavailable: no python3, no Optuna, or no such sampler.
Result<Ok> check_optuna(System& system, const JobSweep& wanted);

/// Lets the sampler add trial `number` to the journal. unavailable: Optuna's last words.
Result<Ok> ask_optuna(System& system, const std::string& journal, const std::string& study,
                      const std::vector<Parameter>& space, const JobSweep& wanted, int number);

/// templates/optuna_ask.py, compiled in.
std::string_view optuna_script();

}  // namespace dllaunch

// Where this user's runs lie: `run` remembers every run directory, wherever it was made.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/run/run_dir.hpp"

namespace dllaunch {

/// More than this are not remembered: the oldest go first.
constexpr std::size_t most_remembered_runs = 1000;

/// $XDG_STATE_HOME/dllaunch, else ~/.local/state/dllaunch: what outlives a run. Nothing where there
/// is no home.
std::optional<std::string> state_folder(System& system);
/// The folder `runs` in it: a file a run that holds its path.
std::optional<std::string> run_index_folder(System& system);

/// Remembers the run as the newest. unavailable: the home is full or read-only; the run itself
/// needs no index, so callers go on.
Result<Ok> remember_run(System& system, const RunDir& run);

/// Directories of runs that still exist, newest first: the remembered ones and those in ./runs,
/// where a read-only home forgets nothing.
std::vector<std::string> known_runs(System& system);

}  // namespace dllaunch

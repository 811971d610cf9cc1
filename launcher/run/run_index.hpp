// An index of the user's run directories, wherever they are. `run` adds to it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/run/run_dir.hpp"

namespace dllaunch {

/// Beyond this number the oldest are dropped.
constexpr std::size_t most_remembered_runs = 1000;

/// Returns $XDG_STATE_HOME/dllaunch, else ~/.local/state/dllaunch; nullopt without a home
/// directory.
std::optional<std::string> state_folder(System& system);
/// Returns its folder `runs`, with one file per run that holds its path.
std::optional<std::string> run_index_folder(System& system);

/// Adds the run as the newest. unavailable: the home directory is full or read-only. Callers
/// continue: a run does not need the index.
Result<Ok> remember_run(System& system, const RunDir& run);

/// Returns the shortest word by which commands find this run from every folder: its directory's
/// name, if that carries a time and is in the index; else the path.
std::string word_for_run(System& system, const std::string& path);

/// Returns "NAME" for "NAME-20261120-101500-3f2a"; other text unchanged.
std::string_view name_in_run(std::string_view folder_name);

bool holds_a_run(const std::string& path);

/// The directory of the modular run that has a component in this one; empty: it is none.
std::string whole_of(const std::string& run_dir);

/// Returns the directories of runs that still exist, newest first: those in the index and those in
/// ./runs, which are found even if the home directory is read-only. Looks at the newest `most` of
/// each only. `away`, if given, gets those of the index whose parent folder does not exist either:
/// a file system may be away for a while.
std::vector<std::string> known_runs(System& system, std::size_t most = most_remembered_runs,
                                    std::vector<std::string>* away = nullptr);

}  // namespace dllaunch

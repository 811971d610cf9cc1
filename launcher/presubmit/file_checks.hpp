// Checks that the files a job names exist: command, folders, staged sources, container, prefix.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/job/job.hpp"
#include "launcher/os/system.hpp"
#include "launcher/plan/program_paths.hpp"
#include "launcher/presubmit/finding.hpp"

namespace dllaunch {

/// Looks on this machine, which shares its file systems with the nodes. Skips what modules, a
/// container or setup: lines may provide.
CheckFindings check_files(const Job& job, const Paths& paths, System& system);

/// A warning if the nodes may not find the run's folders or programs: they are in a folder that is
/// usually local to each machine.
CheckFindings check_shared(const Job& job, const Paths& paths, System& system);

/// The leading words of a text for `bash -c`, up to the first with variables, quoting or bash
/// syntax. Skips comment lines. Empty: only bash can tell what it runs.
std::vector<std::string> plain_words(std::string_view shell_text);

}  // namespace dllaunch

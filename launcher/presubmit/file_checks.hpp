// Whether what a job names is there: its command, folders, sources to stage, container, prefix.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/job/job.hpp"
#include "launcher/os/system.hpp"
#include "launcher/plan/plan.hpp"
#include "launcher/presubmit/finding.hpp"

namespace dllaunch {

/// Looked at from this machine, which sees the shared file systems as the nodes do. What only
/// modules, a container or setup: lines may bring is not judged.
CheckFindings check_files(const Job& job, const Paths& paths, System& system);

/// The words of the command a text for `bash -c` begins with, up to the first that is not plain: no
/// variable, no quoting, nothing that bash itself does. Lines of comments are passed over. Empty:
/// bash has to be asked what it runs.
std::vector<std::string> plain_words(std::string_view shell_text);

}  // namespace dllaunch

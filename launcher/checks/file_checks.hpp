// Whether what a job names is there: its command, folders, sources to stage, container, prefix.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "launcher/checks/finding.hpp"
#include "launcher/job.hpp"
#include "launcher/plan.hpp"
#include "launcher/world.hpp"

namespace dllaunch {

/// Looked at from this machine, which sees the shared file systems as the nodes do. What only
/// modules, a container or setup: lines may bring is not judged.
Findings check_files(const Job& job, const Paths& paths, World& world);

/// The command a text for `bash -c` begins with, where that is plain to see: no variable, no
/// quoting, nothing that bash itself does. Lines of comments are passed over.
std::optional<std::string> plain_command(std::string_view shell_text);

}  // namespace dllaunch

// Files in a run directory, which the user may share with their group (job file: `share: group`).
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace dllaunch {

/// Name of the file that marks a run directory as shared: RUN/.share.
constexpr const char* share_marker = ".share";
bool is_shared(const std::string& run_dir);

/// Opens a file of the run for writing, as open(2) with `flags`; never follows a link, and refuses
/// pipes and devices. Returns -1 and errno on failure. A new file gets `mode` less the umask. In a
/// shared run directory it is readable by the group whatever the umask.
int open_run_file(const std::string& run_dir, const std::string& path, int flags,
                  mode_t mode = 0600);

/// Returns "FOLDER/.NAME.RANDOM.tmp" for "FOLDER/NAME", which rename() then replaces. Processes of
/// two hosts may have the same id: by that name one would publish what the other has half written.
std::filesystem::path temporary_beside(const std::filesystem::path& file);

/// Whether one checkpoint is of a later step than another. Their names have eight digits or more:
/// as texts, "step-100000000" would come before "step-99999999".
bool is_later_step(std::string_view name, std::string_view than);

}  // namespace dllaunch

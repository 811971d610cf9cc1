// Files that are whole or not there, in folders of their user's own.
#pragma once

#include <string>

#include "support/result.hpp"

namespace dllaunch {

/// Makes a folder that only its user can enter (0700, whatever the umask), and its parents as
/// usual. One that is there already keeps its mode. 0, or errno.
int make_private_folder(const std::string& path);

/// Who may read a file besides its user: nobody, or in a shared run's directory the group.
enum class Readers { none, as_the_run };

/// Writes under a name that begins with a dot, syncs, renames: nothing is ever half-written. After
/// a power loss it may be the file of before, until sync_folder().
Result<Ok> write_file(const std::string& path, const std::string& text,
                      Readers readers = Readers::as_the_run);

/// Puts the names of a folder on the disk: what was renamed, made and removed in it. unavailable:
/// the file system refuses.
Result<Ok> sync_folder(const std::string& path);

/// Appends whole lines, on the disk before this returns. A line that somebody left torn is ended
/// first. unavailable: the file system refuses.
Result<Ok> append_lines(const std::string& path, const std::string& lines);

}  // namespace dllaunch

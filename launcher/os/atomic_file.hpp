// Atomic writes and durable appends, and folders private to their user.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/result.hpp"

namespace dllaunch {

/// Creates a folder with mode 0700, whatever the umask; its parents with the usual mode. Leaves the
/// mode of an existing folder. Returns 0 or errno.
int make_private_folder(const std::string& path);

/// The same for what is executed or believed: an existing folder is closed to all others too.
/// bad_request: it cannot be made, is a link, or is another user's.
Result<Ok> make_closed_folder(const std::string& path);

/// Who may read a file besides its owner: no one, or in a shared run's directory the group.
enum class Readers { none, as_the_run };

/// Writes a file atomically: a temporary name that begins with a dot, fsync, rename. After a power
/// loss the old file may be back, unless sync_folder() was called.
Result<Ok> write_file(const std::string& path, const std::string& text,
                      Readers readers = Readers::as_the_run);

/// Paths, each with the text of its file.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// The same of files that belong together: a disk that is full leaves all as they were. Only a file
/// system that fails between two renames of names that are there leaves some old.
Result<Ok> write_files(const NamedTexts& files, Readers readers = Readers::as_the_run);

/// Syncs a folder: files renamed, created and removed in it become durable. unavailable: the file
/// system refuses.
Result<Ok> sync_folder(const std::string& path);

/// Appends whole lines; they are durable when this returns. Terminates a torn last line first.
/// unavailable: the file system refuses.
Result<Ok> append_lines(const std::string& path, const std::string& lines);

}  // namespace dllaunch

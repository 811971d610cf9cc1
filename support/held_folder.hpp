// Whether a folder was replaced by another one, and whether another user could do that.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>

#include "support/result.hpp"

namespace dllaunch {

/// Keeps a folder open to notice when its file system is unmounted. The empty mount point remains,
/// and files written there disappear from view when the file system is mounted again.
class HeldFolder {
 public:
  /// Opens the folder as it is now. While it is open, its inode number is not reused.
  explicit HeldFolder(std::filesystem::path path);

  /// unavailable: the path leads to no folder or to another one. Ok if the folder could not be
  /// opened.
  Result<Ok> check() const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<const int> descriptor_;
};

// Below: owners, mode bits and Linux's access lists are judged. Root counts as trusted everywhere,
// and so does what cannot be told: an owner whom Linux cannot name, or a file system that shows one
// owner or mode for all files.

/// Whether that user is neither this one nor root, nor unknown.
bool is_anothers(uid_t user);

/// Why a file or folder is not this user's alone: "belongs to user 1001, not to you", "can be
/// written by others"; empty: it is.
std::string why_not_own(const struct stat& info);

/// Why another user can put something else at this path: "/proj can be written by others and has no
/// sticky bit". Judges the folders above it that exist; what is made below them is its maker's.
/// Empty: nobody can. A folder of the user's that others may not enter closes what is below it. A
/// few stat calls.
std::string why_replaceable(const std::string& path);

/// Why what is executed must not be taken from a folder: another user can replace it, or write in
/// it; empty: it may, or is not there.
std::string why_not_trusted(const std::string& folder);

/// Whether a file that this user makes in the folder shows, or may show, that other owner, as all
/// files there do. Makes none that anybody sees.
bool shows_one_owner(const std::string& folder, uid_t shown);

/// Opens a folder that must be this user's alone, and no link. -1: it does not exist or cannot be
/// read. bad_request: it is another's, or others can write in it.
Result<int> open_own_folder(const std::string& path);

}  // namespace dllaunch

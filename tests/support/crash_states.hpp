// What a power loss may leave of the files that a recorded program wrote (recorded_files.cpp).
//
// The file system is as bad as POSIX allows. A file holds for sure what it held at its last fsync,
// where it was not written again; of what came later nothing, a beginning, zeros or everything may
// be there. A change of names
// (create, rename, exchange, unlink) is for sure once the folder was synced; of the later ones any
// may be there, in the order of each name. A rename and an exchange happen as one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// The recorder by a name in `folder`: the one that it was built under may have a space in it, at
/// which LD_PRELOAD splits.
std::string recorder_in(const std::filesystem::path& folder);

/// The same of what lets calls fail, failing_files.cpp. Of both the recorder stands behind.
std::string saboteur_in(const std::filesystem::path& folder);

/// One call of the recorded program.
struct RecordedCall {
  std::string kind;        // "create", "write", "truncate", "sync", "rename", "note" ...
  std::string path;        // relative to the recorded folder
  std::string other = {};  // the new name of a rename; what a link points to; the text of a note
  std::size_t offset = 0;
  std::string data = {};
};

std::vector<RecordedCall> parse_recorded_calls(std::string_view log);

/// Everything below a folder: "a/b" -> its content. A folder ends in '/', a link's content begins
/// with "-> ".
using FileTree = std::map<std::string, std::string>;

FileTree read_tree(const std::filesystem::path& folder);
void write_tree(const FileTree& tree, const std::filesystem::path& folder);

struct CrashReplay {
  FileTree end;                     // as the calls leave it without a crash
  std::vector<std::string> errors;  // calls that do not fit: something was not recorded
  std::size_t points = 0;           // moments of a crash
  std::size_t sampled_points = 0;   // of those with more than `most` states, where only these
  std::size_t states = 0;
};

/// Calls `judge(tree, calls)` for every state that a crash after the first `calls` calls may leave.
/// Where a moment has more than `most` states, it hears of `most` that a fixed seed chooses, the
/// ones with nothing and with everything of what is not for sure among them.
CrashReplay replay_crashes(
    const std::vector<RecordedCall>& calls, std::size_t most,
    const std::function<void(const FileTree& tree, std::size_t calls)>& judge);

}  // namespace dllaunch

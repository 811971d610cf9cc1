// The states that a power loss may leave of files written by a recorded program
// (recorded_files.cpp).
//
// The file system is as bad as POSIX allows. After a crash a file holds what it held at its last
// fsync, except where it was written again. Of later writes, nothing, a prefix, zeros or everything
// may be there. A name change (create, rename, exchange, unlink) is durable once its folder was
// synced. Of later ones any may be there, in order for each name. Rename and exchange are atomic.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dllaunch {

/// Links the recorder into `folder` and returns its path. The build path may contain a space, at
/// which LD_PRELOAD splits.
std::string recorder_in(const std::filesystem::path& folder);

/// The same for failing_files.cpp. When both are preloaded, the recorder comes last.
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

/// Everything below a folder: "a/b" -> content. A folder ends in '/'; a link's content begins with
/// "-> ".
using FileTree = std::map<std::string, std::string>;

FileTree read_tree(const std::filesystem::path& folder);
void write_tree(const FileTree& tree, const std::filesystem::path& folder);

struct CrashReplay {
  FileTree end;                     // after all calls, without a crash
  std::vector<std::string> errors;  // calls that do not fit: something was not recorded
  std::size_t points = 0;           // moments of a crash
  std::size_t sampled_points = 0;   // of those with more than `most` states, which are sampled
  std::size_t states = 0;
};

/// Calls `judge(tree, calls)` for every state that a crash after the first `calls` calls may leave.
/// If a moment has more than `most` states, it samples `most` of them with a fixed seed. The sample
/// includes the states with none and with all of the unsynced changes.
CrashReplay replay_crashes(
    const std::vector<RecordedCall>& calls, std::size_t most,
    const std::function<void(const FileTree& tree, std::size_t calls)>& judge);

}  // namespace dllaunch

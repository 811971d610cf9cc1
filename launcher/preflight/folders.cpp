// Check: the folders the job writes to are writable and have enough space.
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "launcher/os/trial_file.hpp"
#include "launcher/preflight/check.hpp"
#include "launcher/staging/stage_node.hpp"
#include "support/awake_clock.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using Clock = AwakeClock;

constexpr const char* tmpdir = "TMPDIR";
constexpr const char* staging = "staging";

std::vector<std::string> items(const NodeView& view) {
  std::vector<std::string> names;
  for (const auto& folder : view.request.folders) names.push_back(folder.what);
  names.emplace_back(tmpdir);
  names.emplace_back(staging);
  return names;
}

const FolderNeed* need_of(const PreflightRequest& request, const std::string& item) {
  for (const auto& folder : request.folders)
    if (folder.what == item) return &folder;
  return nullptr;
}

std::string path_of(const NodeView& view, const std::string& item) {
  if (const auto* need = need_of(view.request, item)) return need->path;
  if (item == staging) return node_disk(view.system);
  const auto path = view.system.environment(tmpdir).value_or("");
  return path.empty() ? "/tmp" : path;
}

/// Returns the nearest existing parent.
Result<std::string> existing_part(const std::string& path) {
  for (fs::path at = path;; at = at.parent_path()) {
    struct stat status {};
    if (stat(at.c_str(), &status) == 0) {
      if (S_ISDIR(status.st_mode)) return at.string();
      return Error{ErrorKind::unavailable, at.string() + " is not a folder", ""};
    }
    if ((errno != ENOENT && errno != ENOTDIR) || at == at.parent_path())
      return Error{ErrorKind::unavailable, fmt::format("{}: {}", at.string(), std::strerror(errno)),
                   ""};
  }
}

Result<Json> observe_folders(const NodeView& view, const std::string& item) {
  const auto path = path_of(view, item);
  const auto folder = existing_part(path);
  if (!folder) return Json{{"path", path}, {"error", folder.error().what}};
  const auto begin = Clock::now();
  const auto trouble = write_trial_file(*folder);
  const std::chrono::duration<double> took = Clock::now() - begin;
  Json seen{
      {"path", path}, {"error", trouble.what}, {"errno", trouble.error}, {"seconds", took.count()}};
  struct statvfs space {};
  if (statvfs(folder->c_str(), &space) != 0) return seen;
  const auto block = static_cast<double>(space.f_frsize);
  seen["total_bytes"] = static_cast<double>(space.f_blocks) * block;
  seen["free_bytes"] = static_cast<double>(space.f_bavail) * block;
  // Some file systems do not count files.
  if (space.f_files > 0) seen["free_files"] = static_cast<double>(space.f_favail);
  return seen;
}

std::string size_words(double bytes) {
  constexpr double gib = 1 << 30;
  return bytes < gib ? fmt::format("{:.0f} MiB", bytes / (1 << 20))
                     : fmt::format("{:.1f} GiB", bytes / gib);
}

constexpr std::string_view make_room =
    "remove what is not needed there, or name another folder (--run-dir; "
    "environment.variables: {TMPDIR: /its/path})";
constexpr std::string_view make_writable = "make the folder writable, or name another one";

struct Fault {
  Level level = Level::ok;
  std::string why = {};
  std::string_view fix = {};
};

std::string_view fix_of(int error) {
  if (error == EROFS)
    return "tell the administrators: a file system that became read-only lost its storage; until "
           "then leave "
           "the node out";
  if (error == ENOSPC) return make_room;
  if (error == EDQUOT) return "free some of your quota there";
  return make_writable;
}

Fault fault_of(const Json& seen, const FolderNeed* need) {
  constexpr double scarce_files = 1000;
  constexpr double scarce_bytes = 64 << 20;
  constexpr double slow_s = 1.0;
  if (const auto error = text_of(seen, "error"); !error.empty())
    return {Level::fail, "cannot write there: " + error,
            fix_of(static_cast<int>(number_of(seen, "errno").value_or(0)))};
  const auto free = number_of(seen, "free_bytes");
  if (need != nullptr && need->bytes > 0 && free && *free < static_cast<double>(need->bytes))
    return {Level::fail,
            fmt::format("the job needs {} there", size_words(static_cast<double>(need->bytes))),
            make_room};
  if (free && *free < scarce_bytes)
    return {Level::fail, fmt::format("less than {} free", size_words(scarce_bytes)), make_room};
  if (const auto files = number_of(seen, "free_files"); files && *files < scarce_files)
    return {Level::warn, fmt::format("only {:.0f} more files can be made", *files), make_room};
  if (const auto seconds = number_of(seen, "seconds"); seconds && *seconds > slow_s)
    return {Level::warn, fmt::format("256 KiB took {:.1f} s to write", *seconds), make_writable};
  return {};
}

std::vector<NodeResult> judge_folders(const PreflightRequest& request,
                                      const std::vector<NodeSample>& samples) {
  std::vector<NodeResult> results;
  for (const auto& [node, item, seen, trouble] : samples) {
    const auto fault = fault_of(seen, need_of(request, item));
    PreflightResult result{
        .item = item, .level = fault.level, .why = fault.why, .fix = std::string(fault.fix)};
    result.value = text_of(seen, "path");
    if (const auto free = number_of(seen, "free_bytes"))
      result.value += fmt::format(": {} free", size_words(*free));
    results.push_back({node, std::move(result)});
  }
  return results;
}

}  // namespace

extern const PreflightCheck folders_check;
const PreflightCheck folders_check{
    .name = "folders",
    .about = "run directory, checkpoints, staging and TMPDIR: a file written, room for the job",
    .limit = std::chrono::milliseconds(2500),
    .items = items,
    .observe = observe_folders,
    .judge = judge_folders};

}  // namespace dllaunch

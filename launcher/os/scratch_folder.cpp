#include "launcher/os/scratch_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view name_stem = "dllaunch-";
constexpr std::size_t random_letters = 6;
/// In every scratch folder, because a user's own dllaunch-backup has a name of the same form.
constexpr const char* marker = ".dllaunch-scratch";

bool has_scratch_name(const std::string& name) {
  return name.starts_with(name_stem) && name.size() == name_stem.size() + random_letters;
}

/// A descriptor that locks the folder; -1 if it is not ours or is locked.
int lock_folder(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return -1;
  struct stat info {};
  if (fstat(folder, &info) == 0 && info.st_uid == geteuid() &&
      flock(folder, LOCK_EX | LOCK_NB) == 0) {
    return folder;
  }
  close(folder);
  return -1;
}

bool is_marked(int folder) {
  struct stat info {};
  return fstatat(folder, marker, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode) &&
         info.st_uid == geteuid();
}

bool is_older(int folder, std::chrono::seconds age) {
  struct stat info {};
  return fstat(folder, &info) == 0 && std::time(nullptr) - info.st_mtime >= age.count();
}

/// Reads until the other end is closed everywhere. Processes that are ending may still write.
constexpr const char* remove_at_the_end = "read -r _; rm -rf -- \"$1\"; sleep 1; rm -rf -- \"$1\"";

}  // namespace

ScratchFolder::ScratchFolder(const std::string& below) {
  constexpr std::chrono::minutes surely_locked(1);
  sweep_scratch(below, surely_locked);
  std::string path = below + "/" + std::string(name_stem) + std::string(random_letters, 'X');
  if (mkdtemp(path.data()) == nullptr) return;
  path_ = path;
  lock_ = lock_folder(path);
  const int mark = openat(lock_, marker, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (mark >= 0) close(mark);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
  owner_ = ends[1];
  auto started = OwnedProcess::start({.program = "/bin/sh",
                                      .argv = {"sh", "-c", remove_at_the_end, "dllaunch", path},
                                      .environment = {},
                                      .output_path = "/dev/null",
                                      .input_fd = ends[0],
                                      .signal_at_our_death = 0});
  close(ends[0]);
  if (started) remover_.emplace(*std::move(started));
}

ScratchFolder::~ScratchFolder() {
  remover_.reset();
  if (owner_ >= 0) close(owner_);
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

std::string temporary_folder() {
  std::error_code error;
  const fs::path found = fs::temp_directory_path(error);
  return error ? "/tmp" : found.string();
}

int sweep_scratch(const std::string& below, std::chrono::seconds age) {
  int removed = 0;
  std::error_code error;
  for (fs::directory_iterator at(below, error), end; !error && at != end; at.increment(error)) {
    if (!has_scratch_name(at->path().filename().string())) continue;
    const int lock = lock_folder(at->path().string());
    if (lock < 0) continue;
    std::error_code failed;
    if (is_marked(lock) && is_older(lock, age)) fs::remove_all(at->path(), failed);
    removed += fs::exists(at->path(), failed) ? 0 : 1;
    close(lock);
  }
  return removed;
}

}  // namespace dllaunch

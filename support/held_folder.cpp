#include "support/held_folder.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace dllaunch {

HeldFolder::HeldFolder(std::filesystem::path path) : path_(std::move(path)) {
  const int descriptor = ::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  descriptor_ = std::shared_ptr<const int>(new int(descriptor), [](const int* held) {
    ::close(*held);
    delete held;
  });
}

Result<Ok> HeldFolder::check() const {
  struct stat held {};
  struct stat now {};
  if (!descriptor_ || ::fstat(*descriptor_, &held) != 0) return Ok{};
  const bool there = ::stat(path_.c_str(), &now) == 0;
  if (there && now.st_ino == held.st_ino && now.st_dev == held.st_dev) return Ok{};
  return Error{ErrorKind::unavailable,
               fmt::format("cannot write into {}: {}", path_.string(),
                           there ? "its file system is not mounted, this is another folder"
                                 : std::strerror(errno)),
               "mount it on this node, then run again: it resumes"};
}

namespace {

namespace fs = std::filesystem;

constexpr mode_t others_write = S_IWGRP | S_IWOTH;
constexpr mode_t others_enter = S_IXGRP | S_IXOTH;

/// What Linux shows for an owner that it cannot name: in a container, of what belongs to a user of
/// the host; of a network file system, whom the two sides do not both know.
constexpr uid_t unknown_user = 65534;

/// Root works in the folders of users, above all in a container.
bool is_trusted(uid_t user) {
  return !is_anothers(user) || geteuid() == 0;
}

/// Many systems give each user a group of the same name, and a umask that lets it write. Where no
/// directory of users answers, their numbers tell it.
bool is_private_group(gid_t group, uid_t of) {
  const bool alike = group == of && (of != geteuid() || group == getegid());
  std::array<char, 16384> room{};
  passwd user{};
  passwd* self = nullptr;
  if (getpwuid_r(of, &user, room.data(), room.size(), &self) != 0 || self == nullptr) return alike;
  if (self->pw_gid != group) return false;
  const std::string name = self->pw_name;
  struct group entry {};
  struct group* found = nullptr;
  if (getgrgid_r(group, &entry, room.data(), room.size(), &found) != 0 || found == nullptr)
    return alike;
  if (name != found->gr_name) return false;
  for (char** member = found->gr_mem; *member != nullptr; ++member)
    if (name != *member) return false;
  return true;
}

/// With an access list, the group's bits are the most that anybody named in it may do.
bool has_access_list(const std::string& path) {
  return getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

bool others_can_write(const std::string& folder, const struct stat& info) {
  if ((info.st_mode & S_IWOTH) != 0) return true;
  if ((info.st_mode & S_IWGRP) == 0) return false;
  const bool closed = info.st_gid == 0 || is_private_group(info.st_gid, geteuid()) ||
                      (geteuid() == 0 && is_private_group(info.st_gid, info.st_uid));
  return !closed || has_access_list(folder);
}

/// Makes a file in the folder for a moment.
bool make_file(const std::string& folder, struct stat& made) {
  int file = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) {
    auto name = folder + "/.dllaunch-owner-XXXXXX";
    file = mkostemp(name.data(), O_CLOEXEC);
    if (file >= 0) unlink(name.c_str());
  }
  if (file < 0) return false;
  const bool known = fstat(file, &made) == 0;
  close(file);
  return known;
}

/// Whether owner or mode of what was judged say nothing, since its file system shows the same for
/// all that lies on it. `path`: in or below it.
bool is_shown_for_all(const struct stat& judged, fs::path path) {
  struct stat made {};
  while (!make_file(path.string(), made)) {
    if (!path.has_relative_path()) return false;
    path = path.parent_path();
  }
  if (made.st_dev != judged.st_dev) return false;
  const bool by_owner = is_anothers(judged.st_uid);
  return by_owner ? made.st_uid == judged.st_uid : (made.st_mode & others_write) != 0;
}

/// Why others can rename what lies in the folder; empty: they cannot.
std::string why_others_rename(const std::string& folder, const struct stat& info) {
  if (!is_trusted(info.st_uid)) return folder + " belongs to another user, who can rename in it";
  if ((info.st_mode & S_ISVTX) != 0 || !others_can_write(folder, info)) return "";
  return folder + " can be written by others and has no sticky bit";
}

struct Judgement {
  std::string why = {};  // others can put something else there; empty: they cannot
  bool closed = false;   // they cannot even come there
};

Judgement judge(const fs::path& path) {
  fs::path folder;
  for (const auto& part : path.parent_path()) {
    folder /= part;
    struct stat info {};
    if (lstat(folder.c_str(), &info) != 0) break;
    if (S_ISLNK(info.st_mode)) {
      if (!is_trusted(info.st_uid))
        return {.why = folder.string() + " is a link of another user's"};
      if (stat(folder.c_str(), &info) != 0) break;
    }
    auto why = why_others_rename(folder, info);
    if (!why.empty() && !is_shown_for_all(info, path)) return {.why = std::move(why)};
    if (info.st_uid == geteuid() && (info.st_mode & others_enter) == 0) return {.closed = true};
  }
  return {};
}

/// The path, and where its links lead.
Judgement judge_both(const std::string& path) {
  std::error_code error;
  const auto absolute = fs::absolute(path, error).lexically_normal();
  const auto real = fs::weakly_canonical(absolute, error);
  auto judged = judge(absolute);
  return error || real == absolute || !judged.why.empty() ? judged : judge(real);
}

}  // namespace

bool is_anothers(uid_t user) {
  return user != 0 && user != geteuid() && user != unknown_user;
}

std::string why_not_own(const struct stat& info) {
  if (info.st_uid != geteuid()) return fmt::format("belongs to user {}, not to you", info.st_uid);
  return (info.st_mode & others_write) != 0 ? "can be written by others" : "";
}

bool shows_one_owner(const std::string& folder, uid_t shown) {
  struct stat made {};
  return shown != geteuid() && make_file(folder, made) && made.st_uid == shown;
}

std::string why_replaceable(const std::string& path) {
  return judge_both(path).why;
}

std::string why_not_trusted(const std::string& folder) {
  auto [why, closed] = judge_both(folder);
  struct stat info {};
  if (!why.empty() || stat(folder.c_str(), &info) != 0) return why;
  if (is_anothers(info.st_uid))
    why = fmt::format("{} {}", folder, why_not_own(info));
  else if (!closed && others_can_write(folder, info))
    why = folder + " can be written by others";
  return why.empty() || is_shown_for_all(info, folder) ? "" : why;
}

Result<int> open_own_folder(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0 && (errno == ELOOP || errno == ENOTDIR))
    return Error{ErrorKind::bad_request, path + " is a link, or not a folder", "remove it"};
  if (folder < 0) return -1;
  struct stat info {};
  auto why = fstat(folder, &info) == 0 ? why_not_own(info) : "cannot be examined";
  if (why.empty()) return folder;
  close(folder);
  return Error{
      ErrorKind::bad_request, fmt::format("{} {}", path, why),
      info.st_uid == geteuid() ? "chmod go-w " + path : "remove it, or use another run directory"};
}

}  // namespace dllaunch

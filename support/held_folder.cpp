#include "support/held_folder.hpp"

#include <endian.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

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
constexpr uid_t unmapped_user = 4294967294;  // of NFSv4 where no idmapper answers

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

/// Whether no other user is in the group. `owner`: of a folder in which root works.
bool is_closed_group(gid_t group, uid_t owner) {
  return group == 0 || is_private_group(group, geteuid()) ||
         (geteuid() == 0 && is_private_group(group, owner));
}

/// An entry of a folder's access list, as the kernel hands it out.
struct AccessEntry {
  std::uint16_t tag;
  std::uint16_t rights;
  std::uint32_t who;
};
constexpr std::uint16_t named_user = 2;
constexpr std::uint16_t owning_group = 4;
constexpr std::uint16_t named_group = 8;

/// Empty: it has none.
std::vector<AccessEntry> access_list(const std::string& path) {
  constexpr std::size_t head = 4;  // a version
  std::vector<char> room(65536);
  const auto size = getxattr(path.c_str(), "system.posix_acl_access", room.data(), room.size());
  std::vector<AccessEntry> entries;
  for (std::size_t at = head;
       size > 0 && at + sizeof(AccessEntry) <= static_cast<std::size_t>(size);
       at += sizeof(AccessEntry)) {
    AccessEntry entry{};
    std::memcpy(&entry, &room[at], sizeof entry);
    entries.push_back({le16toh(entry.tag), le16toh(entry.rights), le32toh(entry.who)});
  }
  return entries;
}

bool others_can_write(const std::string& folder, const struct stat& info) {
  if ((info.st_mode & S_IWOTH) != 0) return true;
  if ((info.st_mode & S_IWGRP) == 0) return false;
  const auto entries = access_list(folder);
  if (entries.empty()) return !is_closed_group(info.st_gid, info.st_uid);
  // The group's bits are the most that anybody named in it may do.
  return std::ranges::any_of(entries, [&info](const AccessEntry& one) {
    if ((one.rights & S_IWOTH) == 0) return false;
    if (one.tag == named_user) return is_anothers(one.who) && one.who != info.st_uid;
    if (one.tag == owning_group) return !is_closed_group(info.st_gid, info.st_uid);
    return one.tag == named_group && !is_closed_group(one.who, info.st_uid);
  });
}

/// What a file that is made in the folder would look like, which nobody sees; false: not known.
bool try_file(const std::string& folder, struct stat& made) {
  const int file = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const bool known = fstat(file, &made) == 0;
  close(file);
  return known;
}

/// Whether the folder's file system is of a kind that may show the same owner and mode for all
/// files, and has no files without a name to try it.
bool may_show_one_owner(const std::string& folder) {
  constexpr std::uint32_t kinds[] = {
      0x01021997 /* 9p */, 0x65735546 /* FUSE */, 0x2011bab0 /* exFAT */,
      0x4d44 /* FAT */,    0xff534d42 /* CIFS */, 0xfe534d42 /* SMB */,
      0x786f4256 /* vboxsf */};
  struct statfs info {};
  return statfs(folder.c_str(), &info) == 0 &&
         std::ranges::find(kinds, static_cast<std::uint32_t>(info.f_type)) != std::end(kinds);
}

/// Whether owner or mode of what was judged say nothing, since its file system shows the same for
/// all that lies on it. `path`: in or below it.
bool is_shown_for_all(const struct stat& judged, fs::path path) {
  struct stat info {};
  while (stat(path.c_str(), &info) != 0) {
    if (!path.has_relative_path()) return false;
    path = path.parent_path();
  }
  if (info.st_dev != judged.st_dev) return false;
  struct stat made {};
  if (!try_file(path.string(), made)) return may_show_one_owner(path.string());
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
  return user != 0 && user != geteuid() && user != unknown_user && user != unmapped_user;
}

std::string why_not_own(const struct stat& info) {
  if (info.st_uid != geteuid()) return fmt::format("belongs to user {}, not to you", info.st_uid);
  return (info.st_mode & others_write) != 0 ? "can be written by others" : "";
}

bool shows_one_owner(const std::string& folder, uid_t shown) {
  if (shown == geteuid()) return false;
  struct stat made {};
  return try_file(folder, made) ? made.st_uid == shown : may_show_one_owner(folder);
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

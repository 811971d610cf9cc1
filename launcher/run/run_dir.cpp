#include "launcher/run/run_dir.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <random>
#include <string_view>
#include <thread>

#include "launcher/os/atomic_file.hpp"
#include "support/regular_file.hpp"
#include "support/run_file.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

Error cannot(const std::string& what, const std::string& path, const std::string& why) {
  return {ErrorKind::bad_request, fmt::format("cannot {} {}: {}", what, path, why),
          "choose another folder with --run-dir DIR"};
}

std::string time_stamp() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &local);
  return text.data();
}

/// Returns random letters and digits. Four distinguish runs of one name within a second.
std::string random_word(int length) {
  constexpr std::string_view alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device source;
  std::uniform_int_distribution<std::size_t> pick(0, alphabet.size() - 1);
  std::string word;
  for (int i = 0; i < length; ++i) word += alphabet[pick(source)];
  return word;
}

/// Independent of the umask.
constexpr mode_t private_file = 0600;

}  // namespace

std::string safe_run_name(const std::string& name) {
  std::string safe;
  for (const char c : name) {
    const bool plain =
        (std::isalnum(static_cast<unsigned char>(c)) != 0 && static_cast<unsigned char>(c) < 128) ||
        c == '.' || c == '-' || c == '_';
    safe += plain ? c : '_';
  }
  // A leading dot marks temporary files.
  if (safe.empty() || safe.front() == '.') safe.insert(safe.begin(), '_');
  return safe.substr(0, 100);
}

std::string new_run_path(const std::string& name) {
  std::error_code ignored;
  const fs::path here = fs::current_path(ignored);
  return (here / "runs" /
          fmt::format("{}-{}-{}", safe_run_name(name), time_stamp(), random_word(4)))
      .string();
}

std::string read_run_id(const std::string& path) {
  std::array<char, 64> text{};
  const int file = open_regular_file(path + "/.run-id", FileLinks::refused);
  if (file < 0) return "";
  const ssize_t got = read(file, text.data(), text.size());
  close(file);
  const std::string id(text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  const bool plain = std::all_of(id.begin(), id.end(), [](unsigned char c) {
    return std::isdigit(c) != 0 || (c >= 'a' && c <= 'z');
  });
  return plain ? id : "";
}

namespace {

/// Returns 0 or errno.
int share_with_group(const std::string& folder) {
  struct stat now {};
  if (stat(folder.c_str(), &now) != 0) return errno;
  const mode_t wanted = (now.st_mode & 07777) | S_IRGRP | S_IXGRP;
  return wanted == (now.st_mode & 07777) || chmod(folder.c_str(), wanted) == 0 ? 0 : errno;
}

}  // namespace

Result<RunDir> make_run_dir(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error).lexically_normal();
  if (error) return cannot("make", path, error.message());
  std::string text = absolute.string();
  if (text.size() > 1 && text.back() == '/') text.pop_back();

  RunDir run{.path = text, .resumed = fs::exists(text + "/job.yaml", error)};
  for (const auto& folder : {text, run.out()}) {
    if (const int why = make_private_folder(folder); why != 0)
      return cannot("make the run directory", text, std::strerror(why));
  }
  // Root passes permission checks even on a read-only file system: only a write shows it.
  run.id = read_run_id(text);
  const bool known = !run.id.empty();
  if (!known) run.id = random_word(16);
  auto written = write_file(text + (known ? "/.writable" : "/.run-id"), run.id);
  if (!written) return std::move(written).error();
  fs::remove(text + "/.writable", error);
  return run;
}

Result<Ok> share_run_dir(const RunDir& run, bool share) {
  const std::string marker = run.path + "/" + share_marker;
  std::error_code error;
  if (!share) {
    fs::remove(marker, error);
    if (error) return cannot("write", marker, error.message());
    return Ok{};
  }
  for (const auto& folder : {run.path, run.out()}) {
    if (const int why = share_with_group(folder); why != 0)
      return cannot("share", folder, std::strerror(why));
  }
  return is_shared(run.path) ? Result<Ok>(Ok{}) : write_file(marker, "");
}

Result<RunLock> RunLock::take(const RunDir& run) {
  const std::string path = run.path + "/.lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, private_file);
  if (fd < 0) return cannot("open", path, std::strerror(errno));
  RunLock lock(fd);
  // owner_of() and write_end() hold the lock briefly.
  constexpr int tries = 25;
  for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; ++i) {
    // The file system has no locks: run without one.
    if (errno != EWOULDBLOCK) return lock;
    if (i == tries)
      return Error{ErrorKind::bad_request,
                   fmt::format("another dllaunch is running in {}", run.path),
                   "wait for it, stop it, or choose another --run-dir"};
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  lock.sign();
  return lock;
}

void RunLock::sign() const {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const std::string text = fmt::format("{} {}\n", static_cast<long>(getpid()), host.data());
  // Informational only: a full disk must not stop the run.
  if (ftruncate(fd_, 0) != 0) return;
  if (pwrite(fd_, text.data(), text.size(), 0) < 0) return;
}

void RunLock::pass_on() const {
  fcntl(fd_, F_SETFD, 0);
}

void forget_summary(const RunDir& run) {
  std::error_code error;
  fs::rename(run.summary(), run.earlier_summary(), error);
  if (error) fs::remove(run.summary(), error);
}

std::optional<RunLockHolder> owner_of(const RunDir& run) {
  const int fd = open_regular_file(run.path + "/.lock", FileLinks::refused);
  if (fd < 0) return std::nullopt;
  const bool held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  std::array<char, 300> text{};
  struct stat info {};
  const bool read = held && pread(fd, text.data(), text.size() - 1, 0) > 0 && fstat(fd, &info) == 0;
  close(fd);
  if (!held) return std::nullopt;
  RunLockHolder owner;
  if (!read) return owner;
  const std::string_view content(text.data());
  const auto blank = content.find(' ');
  owner.pid = static_cast<pid_t>(std::atol(text.data()));
  if (blank != std::string_view::npos)
    owner.host = content.substr(blank + 1, content.find('\n') - blank - 1);
  owner.since_s = static_cast<double>(info.st_mtime);
  owner.user = info.st_uid;
  return owner;
}

bool holds_lock(const RunDir& run, pid_t pid) {
  struct stat lock {};
  struct stat dir {};
  struct stat process {};
  const auto proc = fmt::format("/proc/{}", pid);
  if (stat((run.path + "/.lock").c_str(), &lock) != 0 || stat(run.path.c_str(), &dir) != 0 ||
      stat(proc.c_str(), &process) != 0)
    return false;
  const auto trusted = [&](uid_t owner) { return owner == process.st_uid || owner == 0; };
  if (!trusted(lock.st_uid) || !trusted(dir.st_uid)) return false;
  std::error_code ended;
  for (fs::directory_iterator at(proc + "/fd", ended), end; !ended && at != end;
       at.increment(ended)) {
    struct stat file {};
    if (stat(at->path().c_str(), &file) == 0 && file.st_dev == lock.st_dev &&
        file.st_ino == lock.st_ino)
      return true;
  }
  return false;
}

RunLock::~RunLock() {
  if (fd_ >= 0) close(fd_);
}

std::string newest_checkpoint(const RunDir& run) {
  std::string newest;
  std::error_code error;
  for (fs::directory_iterator at(run.checkpoints(), error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("step-") && is_later_step(name, newest)) newest = name;
  }
  return newest.empty() ? "" : run.checkpoints() + "/" + newest;
}

}  // namespace dllaunch

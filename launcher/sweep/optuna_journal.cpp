#include "launcher/sweep/optuna_journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "support/run_file.hpp"
#include "support/shared_memory.hpp"

namespace dllaunch {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

Error refusal(const std::string& what, const std::string& path) {
  return {ErrorKind::unavailable, fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)),
          ""};
}

/// The journal's own name, written so that a lock of ours can be told from Optuna's.
std::string our_name(const std::string& path) {
  const auto slash = path.rfind('/');
  return path.substr(0, slash) + "/./" + path.substr(slash + 1);
}

/// Empty: no such link.
std::string target_of(const std::string& link) {
  std::array<char, 4096> target{};
  const ssize_t length = ::readlink(link.c_str(), target.data(), target.size());
  return {target.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

/// Removes the lock of a driver that was killed: only one driver works in a sweep's directory.
void remove_own_lock(const std::string& path) {
  const std::string link = path + ".lock";
  if (target_of(link) == our_name(path)) ::unlink(link.c_str());
}

/// Optuna's JournalFileSymlinkLock: who creates the link holds the lock. As there, a lock of a
/// program that died is taken away once nothing has been written for 30 s.
class SymlinkLock {
 public:
  static Result<SymlinkLock> take(const std::string& target,
                                  const std::function<void(const std::string&)>& say) {
    const std::string link = target + ".lock";
    const auto began = Clock::now();
    bool told = !say;
    auto changed_at = Clock::now();
    timespec before{};
    for (auto pause = 1ms;; pause = std::min<std::chrono::milliseconds>(2 * pause, 200ms)) {
      if (::symlink(our_name(target).c_str(), link.c_str()) == 0) return SymlinkLock(link);
      if (errno != EEXIST) return refusal("lock", target);
      if (!told && Clock::now() - began > 2s) {
        told = true;
        say(fmt::format("waiting for the lock of {}: another program writes it, or was killed\n",
                        target));
      }
      if (Clock::now() - began > 60s)
        return Error{ErrorKind::unavailable, target + " has been locked for a minute",
                     "end the program that writes it, or remove " + link};
      struct stat now {};
      if (::stat(target.c_str(), &now) == 0 &&
          (now.st_mtim.tv_sec != before.tv_sec || now.st_mtim.tv_nsec != before.tv_nsec)) {
        before = now.st_mtim;
        changed_at = Clock::now();
      }
      if (Clock::now() - changed_at > 30s) {
        ::unlink(link.c_str());
        changed_at = Clock::now();
      }
      std::this_thread::sleep_for(pause);
    }
  }

  SymlinkLock(SymlinkLock&& other) noexcept : link_(std::exchange(other.link_, {})) {}
  SymlinkLock& operator=(SymlinkLock&&) = delete;
  ~SymlinkLock() {
    if (!link_.empty()) ::unlink(link_.c_str());
  }

 private:
  explicit SymlinkLock(std::string link) : link_(std::move(link)) {}
  std::string link_;
};

/// Where the next record begins: behind the last newline.
off_t end_of_lines(int file) {
  off_t end = ::lseek(file, 0, SEEK_END);
  for (char last = 0; end > 0; --end)
    if (::pread(file, &last, 1, end - 1) != 1 || last == '\n') break;
  return end;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

void remove_lock_of_killed(const std::string& journal, const timespec& since) {
  const std::string link = journal + ".lock";
  struct stat lock {};
  // A program that lives, as Optuna's dashboard, gives its lock up meanwhile.
  for (int i = 0; i < 20; ++i) {
    struct stat now {};
    if (::lstat(link.c_str(), &now) != 0) return;
    const bool older =
        std::pair(now.st_mtim.tv_sec, now.st_mtim.tv_nsec) < std::pair(since.tv_sec, since.tv_nsec);
    if (older || target_of(link) == our_name(journal)) return;
    if (i > 0 && now.st_ino != lock.st_ino) return;
    lock = now;
    std::this_thread::sleep_for(50ms);
  }
  ::unlink(link.c_str());
}

Result<OptunaJournal> OptunaJournal::open(const std::string& path, const std::string& study,
                                          bool minimize,
                                          std::function<void(const std::string&)> say) {
  remove_own_lock(path);
  OptunaJournal journal(path, study, std::move(say));
  if (auto taken = journal.read(); !taken) return std::move(taken).error();
  if (!journal.replay_.has_study()) {
    const Json record = study_record(study, minimize);
    if (auto written = journal.append({&record, 1}); !written) return std::move(written).error();
  }
  return journal;
}

/// Of a journal that others cut or replaced, what was read of it is no longer true.
Result<Ok> OptunaJournal::check_whole() const {
  struct stat now {};
  const auto bytes = ::stat(path_.c_str(), &now) == 0 ? static_cast<std::uint64_t>(now.st_size) : 0;
  if (bytes >= tail_.offset()) return Ok{};
  return Error{ErrorKind::unavailable, path_ + " has become shorter: another program changed it",
               "put it back as it was: the same command then continues"};
}

Result<Ok> OptunaJournal::read() {
  if (auto whole = check_whole(); !whole) return whole;
  do {
    for (const auto& line : tail_.read()) replay_.take(line);
  } while (tail_.behind());
  return Ok{};
}

Result<Ok> OptunaJournal::append(std::span<const Json> records) {
  const auto lock = SymlinkLock::take(path_, say_);
  if (!lock) return lock.error();
  if (auto whole = check_whole(); !whole) return whole;
  const FileDescriptor file(
      open_run_file(path_.substr(0, path_.rfind('/')), path_, O_RDWR | O_CREAT));
  if (file.get() < 0) return refusal("open", path_);
  const off_t end = end_of_lines(file.get());
  if (end != ::lseek(file.get(), 0, SEEK_END)) {
    if (::ftruncate(file.get(), end) != 0) return refusal("write", path_);
    // What was read of the torn line must not be joined with what follows.
    tail_ = LineTail(path_);
    replay_ = OptunaReplay(study_);
  }
  if (::lseek(file.get(), end, SEEK_SET) != end) return refusal("write", path_);
  std::string text;
  for (const Json& record : records)
    text += record.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
  if (write_all(file.get(), text) && ::fsync(file.get()) == 0) return read();
  auto refused = refusal("write", path_);
  // Else records that a full disk took whole would be written twice.
  if (::ftruncate(file.get(), end) != 0) return refusal("write", path_);
  return refused;
}

}  // namespace dllaunch

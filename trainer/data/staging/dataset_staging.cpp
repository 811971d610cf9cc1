#include "trainer/data/staging/dataset_staging.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "support/random.hpp"
#include "trainer/data/codecs/random_access_file.hpp"
#include "trainer/data/staging/staged_files.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::string_view own_folder_hint =
    "name a folder of your own in dataset.stage_to, such as /local/scratch/$USER";

/// Fails if the file belongs to another user: others can write to /tmp too.
Result<FileDescriptor> open_own(const fs::path& path, int flags) {
  FileDescriptor file(::open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) {
    Error error = staging_error("open", path, errno);
    if (error.hint.empty()) error.hint = own_folder_hint;
    return error;
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return staging_error("open", path, errno);
  if (status.st_uid == ::geteuid()) return file;
  return Error{ErrorKind::unavailable, path.string() + " belongs to another user",
               std::string(own_folder_hint)};
}

/// Returns false if another process holds the lock.
Result<bool> try_lock(const FileDescriptor& file, int mode, const fs::path& path) {
  if (::flock(file.get(), mode | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK || errno == EINTR) return false;
  return staging_error("lock", path, errno);
}

/// Takes the shared lock of a copy's readers.
Result<StagedCopy> hold(const fs::path& copy) {
  auto folder = open_own(copy, O_RDONLY | O_DIRECTORY);
  if (!folder) return std::move(folder).error();
  auto held = try_lock(*folder, LOCK_SH, copy);
  if (!held) return std::move(held).error();
  if (*held) return StagedCopy{copy, *std::move(folder)};
  return Error{ErrorKind::unavailable, copy.string() + " is being removed", ""};
}

/// The exclusive right to copy, remove and open copies of one folder. The kernel releases it if the
/// process dies. Its text tells the waiting processes the progress or the result.
class CopyLock {
 public:
  static constexpr std::size_t text_bytes = 4096;

  CopyLock(fs::path path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  Result<bool> take() const { return try_lock(file_, LOCK_EX, path_); }

  std::string text() const {
    std::string text(text_bytes, '\0');
    const auto count = ::pread(file_.get(), text.data(), text.size(), 0);
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return text.substr(0, text.find('\0'));
  }
  /// Padded to a fixed length, so that one write replaces the text. A failure is ignored: at worst
  /// the waiting processes time out.
  void write(std::string text) const {
    text.resize(text_bytes, '\0');
    [[maybe_unused]] const auto written = ::pwrite(file_.get(), text.data(), text.size(), 0);
  }

 private:
  fs::path path_;
  FileDescriptor file_;
};

constexpr std::string_view whole_mark = "whole ";
constexpr std::string_view failed_mark = "failed ";

/// Returns "failed 2\nWHAT\nHINT".
std::string render_failure(const Error& error) {
  return fmt::format("{}{}\n{}\n{}", failed_mark, static_cast<int>(error.kind), error.what,
                     error.hint);
}

std::optional<Error> read_failure(const std::string& text) {
  if (!text.starts_with(failed_mark)) return std::nullopt;
  const auto kind_ends = text.find('\n');
  const auto what_ends = text.rfind('\n');
  if (kind_ends == std::string::npos || what_ends == kind_ends) return std::nullopt;
  const int kind = text[failed_mark.size()] - '0';
  const bool known = kind >= 0 && kind <= static_cast<int>(ErrorKind::timeout);
  return Error{known ? static_cast<ErrorKind>(kind) : ErrorKind::unavailable,
               text.substr(kind_ends + 1, what_ends - kind_ends - 1), text.substr(what_ends + 1)};
}

double gigabytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / 1e9;
}

/// The copying itself, by the holder of the lock.
class Copy {
 public:
  Copy(const StagingOptions& options, const CopyLock& lock, std::string prefix)
      : options_(options),
        lock_(lock),
        prefix_(std::move(prefix)),
        partial_(options.to / ("." + prefix_ + ".partial")) {}

  Result<StagedCopy> run(const fs::path& from) {
    tick();
    auto files = list_files(from, [this] { tick(); });
    if (!files) return std::move(files).error();
    const fs::path whole = options_.to / fmt::format("{}-{:016x}", prefix_, key_of(*files));
    std::error_code failed;
    if (fs::exists(fs::symlink_status(whole, failed))) {
      auto present = hold(whole);
      if (!present) return present;
      auto copied = list_files(whole, [this] { tick(); });
      if (copied && same_names_and_sizes(*copied, *files)) return present;
    }
    const int in_use = remove_old();
    if (fs::exists(whole, failed)) {
      return Error{ErrorKind::unavailable,
                   fmt::format("files are missing in {}, which another job reads", whole.string()),
                   "remove it when that job has ended"};
    }
    auto copied = copy_all(from, *files, in_use);
    if (!copied) {
      remove_tree(partial_, [this] { tick(); });
      return std::move(copied).error();
    }
    fs::rename(partial_, whole, failed);
    if (failed) return staging_error("write", whole, failed.value());
    options_.say(fmt::format("staged {:.1f} GB in {:.0f} s ({:.2f} GB/s) to {}", gigabytes(done_),
                             seconds(), rate(), options_.to.string()));
    return hold(whole);
  }

 private:
  /// Returns how many old copies remain because they are in use.
  int remove_old() {
    int in_use = 0;
    std::vector<fs::path> old;
    std::error_code failed;
    for (fs::directory_iterator at(options_.to, failed), end; !failed && at != end;
         at.increment(failed)) {
      if (at->path().filename().string().starts_with(prefix_ + "-")) old.push_back(at->path());
    }
    for (const auto& copy : old) {
      auto folder = open_own(copy, O_RDONLY | O_DIRECTORY);
      if (!folder) continue;
      auto alone = try_lock(*folder, LOCK_EX, copy);
      if (alone && *alone) {
        remove_tree(copy, [this] { tick(); });
      } else {
        ++in_use;
      }
    }
    remove_tree(partial_, [this] { tick(); });  // left by a killed process
    return in_use;
  }

  Result<Ok> copy_all(const fs::path& from, const std::vector<StagedFile>& files, int in_use) {
    for (const auto& file : files) total_ += file.bytes;
    std::error_code failed;
    const auto space = fs::space(options_.to, failed);
    if (!failed && space.available < total_) {
      return Error{ErrorKind::unsatisfiable,
                   fmt::format("{} has {:.1f} GB free, {} takes {:.1f} GB{}", options_.to.string(),
                               gigabytes(space.available), from.string(), gigabytes(total_),
                               in_use > 0 ? "; running jobs read older copies of it" : ""),
                   "dataset.stage_failure: in_place reads the files where they are"};
    }
    if (::mkdir(partial_.c_str(), 0700) != 0) return staging_error("make", partial_, errno);
    start_ = Clock::now();
    for (const auto& file : files) {
      const fs::path target = partial_ / file.name;
      if (file.is_folder()) {
        if (::mkdir(target.c_str(), 0700) != 0) return staging_error("make", target, errno);
      } else if (auto copied = copy(from, file, target); !copied) {
        return copied;
      }
    }
    return sync();
  }

  Result<Ok> copy(const fs::path& from, const StagedFile& file, const fs::path& target) {
    auto source = RandomAccessFile::open(from / file.name);
    if (!source) return std::move(source).error();
    const int out = ::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0) return staging_error("write", target, errno);
    auto copied = copy_bytes(*source, file.bytes, out, target);
    // Some file systems report a lack of space only here.
    if (::close(out) != 0 && copied) return staging_error("write", target, errno);
    return copied;
  }

  Result<Ok> copy_bytes(const RandomAccessFile& source, std::uint64_t size, int out,
                        const fs::path& target) {
    piece_.resize(std::size_t{4} << 20);
    for (std::uint64_t at = 0; at < size;) {
      const auto bytes = std::span(piece_).first(std::min<std::uint64_t>(piece_.size(), size - at));
      if (auto read = source.read(at, bytes); !read) return std::move(read).error();
      for (std::size_t sent = 0; sent < bytes.size();) {
        const auto count = ::write(out, bytes.data() + sent, bytes.size() - sent);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return staging_error("write", target, errno);
        sent += static_cast<std::size_t>(count);
      }
      at += bytes.size();
      done_ += bytes.size();
      tick();
    }
    tick();
    // Syncing each file would take hours for a million of them; one sync at the end would outlast
    // the patience of the waiting processes.
    constexpr std::uint64_t synced_at_once = std::uint64_t{1} << 30;
    return done_ - synced_ > synced_at_once ? sync() : Result<Ok>(Ok{});
  }

  /// A copy with its final name must survive a power failure.
  Result<Ok> sync() {
    synced_ = done_;
    const FileDescriptor folder(::open(partial_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder || ::syncfs(folder.get()) != 0) return staging_error("write", partial_, errno);
    tick();
    return Ok{};
  }

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double rate() const { return gigabytes(done_) / std::max(seconds(), 1e-3); }

  void tick() {
    const auto now = Clock::now();
    if (now - marked_ > std::chrono::milliseconds(200)) {
      lock_.write(fmt::format("{} steps, {} bytes", ++steps_, done_));
      marked_ = now;
    }
    if (done_ == 0 || now - told_ < options_.told_every) return;
    told_ = now;
    options_.say(
        fmt::format("staged {:.1f} of {:.1f} GB ({} %) at {:.2f} GB/s, {:.0f} s left, to "
                    "{}",
                    gigabytes(done_), gigabytes(total_), 100 * done_ / total_, rate(),
                    gigabytes(total_ - std::min(done_, total_)) / rate(), options_.to.string()));
  }

  const StagingOptions& options_;
  const CopyLock& lock_;
  std::string prefix_;  // common to all copies of this folder
  fs::path partial_;
  std::vector<std::uint8_t> piece_;
  std::uint64_t total_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t synced_ = 0;
  std::uint64_t steps_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point marked_;
  Clock::time_point told_ = start_;
};

/// Waits for the lock. Returns the last text of the process it waited for; empty if it did not
/// wait.
Result<std::string> wait_for(const CopyLock& lock, const StagingOptions& options) {
  bool waited = false;
  std::string seen;
  auto changed = Clock::now();
  while (true) {
    auto taken = lock.take();
    if (!taken) return std::move(taken).error();
    if (*taken) return waited ? lock.text() : "";
    waited = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    auto text = lock.text();
    if (text != seen) {
      seen = std::move(text);
      changed = Clock::now();
    } else if (Clock::now() - changed > options.patience) {
      return Error{
          ErrorKind::timeout,
          fmt::format("the process that copies {} to {} made no progress for {} s",
                      options.from.string(), options.to.string(), options.patience.count()),
          ""};
    }
  }
}

}  // namespace

Result<StagedCopy> stage_dataset(const StagingOptions& options) {
  std::error_code failed;
  fs::create_directories(options.to, failed);
  if (failed) return staging_error("make", options.to, failed.value());
  const fs::path from = fs::weakly_canonical(options.from, failed);
  // The hash keeps apart folders of the same name, and users.
  const std::string prefix =
      fmt::format("{}-{:016x}", from.filename().string(), random_key(::geteuid(), from.string()));
  const fs::path lock_path = options.to / ("." + prefix + ".lock");
  auto lock_file = open_own(lock_path, O_RDWR | O_CREAT);
  if (!lock_file) return std::move(lock_file).error();
  const CopyLock lock(lock_path, *std::move(lock_file));
  auto said = wait_for(lock, options);
  if (!said) return std::move(said).error();
  if (auto failure = read_failure(*said)) return *std::move(failure);
  if (said->starts_with(whole_mark)) {
    if (auto copy = hold(options.to / said->substr(whole_mark.size()))) return copy;
  }
  auto copy = Copy(options, lock, prefix).run(from);
  lock.write(copy ? std::string(whole_mark) + copy->path.filename().string()
                  : render_failure(copy.error()));
  return copy;
}

}  // namespace dllaunch

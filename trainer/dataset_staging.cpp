#include "trainer/dataset_staging.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trainer/dataset/random_access_file.hpp"
#include "trainer/random.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct StagedFile {
  std::string name;  // relative
  std::uint64_t bytes = 0;
  std::int64_t written_ns = 0;  // when the original was written
  bool operator==(const StagedFile&) const = default;
};

Error cannot(const std::string& what, const fs::path& path, int why) {
  const bool full = why == ENOSPC || why == EDQUOT || why == EFBIG;
  return {full ? ErrorKind::unsatisfiable : ErrorKind::unavailable,
          fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(why)),
          full ? "dataset.stage_failure: in_place reads the files where they are" : ""};
}

/// All regular files under `folder`, by name.
Result<std::vector<StagedFile>> list(const fs::path& folder) {
  std::vector<StagedFile> files;
  std::error_code failed;
  const auto links = fs::directory_options::follow_directory_symlink;
  for (fs::recursive_directory_iterator at(folder, links, failed), end; !failed && at != end;
       at.increment(failed)) {
    struct stat status {};
    if (::stat(at->path().c_str(), &status) != 0) return cannot("read", at->path(), errno);
    if (!S_ISREG(status.st_mode)) continue;
    files.push_back({at->path().lexically_relative(folder).string(),
                     static_cast<std::uint64_t>(status.st_size),
                     status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec});
  }
  if (failed) return cannot("list", folder, failed.value());
  std::sort(files.begin(), files.end(),
            [](const StagedFile& a, const StagedFile& b) { return a.name < b.name; });
  return files;
}

/// A file descriptor, closed at the end.
class OwnedFile {
 public:
  explicit OwnedFile(int file) : file_(file) {}
  ~OwnedFile() {
    if (file_ >= 0) ::close(file_);
  }
  OwnedFile(const OwnedFile&) = delete;
  OwnedFile& operator=(const OwnedFile&) = delete;
  int get() const { return file_; }

 private:
  int file_;
};

/// Who holds it copies; the kernel lets go of it when that process dies. Its text is what the
/// others watch: bytes copied, or why it failed.
class CopyLock {
 public:
  static constexpr std::size_t text_bytes = 512;

  explicit CopyLock(const fs::path& path)
      : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {}

  bool opened() const { return file_.get() >= 0; }
  bool take() const { return ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0; }

  std::string text() const {
    std::string text(text_bytes, '\0');
    const auto count = ::pread(file_.get(), text.data(), text.size(), 0);
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return text.substr(0, text.find('\0'));
  }
  /// Padded to one length, so that one write replaces it whole. A node without room for half a
  /// kilobyte has waiters that lose their patience, no more.
  void write(std::string text) const {
    text.resize(text_bytes, '\0');
    [[maybe_unused]] const auto written = ::pwrite(file_.get(), text.data(), text.size(), 0);
  }

 private:
  OwnedFile file_;
};

constexpr std::string_view failed_mark = "failed: ";
constexpr std::string_view whole_mark = "whole";

double gigabytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / 1e9;
}

class Copy {
 public:
  Copy(const StagingOptions& options, const CopyLock& lock, const std::vector<StagedFile>& files)
      : options_(options), lock_(lock), files_(files) {
    for (const auto& file : files) total_ += file.bytes;
  }

  /// Into `partial`, which is then renamed to `whole`.
  Result<Ok> run(const fs::path& partial, const fs::path& whole) {
    std::error_code failed;
    fs::remove_all(partial, failed);
    const auto space = fs::space(options_.to, failed);
    if (!failed && space.available < total_) {
      return Error{
          ErrorKind::unsatisfiable,
          fmt::format("{} has {:.1f} GB free, {} takes {:.1f} GB", options_.to.string(),
                      gigabytes(space.available), options_.from.string(), gigabytes(total_)),
          "dataset.stage_failure: in_place reads the files where they are"};
    }
    fs::create_directories(partial, failed);
    if (failed) return cannot("make", partial, failed.value());
    for (const auto& file : files_) {
      if (auto copied = copy(file, partial / file.name); !copied) return copied;
    }
    fs::remove_all(whole, failed);  // of files that have changed since
    fs::rename(partial, whole, failed);
    if (failed) return cannot("write", whole, failed.value());
    return Ok{};
  }

  std::string progress() const {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    return fmt::format("staged {:.1f} of {:.1f} GB in {:.0f} s to {}", gigabytes(done_),
                       gigabytes(total_), seconds, options_.to.string());
  }

 private:
  Result<Ok> copy(const StagedFile& file, const fs::path& target) {
    auto source = RandomAccessFile::open(options_.from / file.name);
    if (!source) return std::move(source).error();
    std::error_code failed;
    fs::create_directories(target.parent_path(), failed);
    const OwnedFile out(::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (out.get() < 0) return cannot("write", target, errno);
    std::vector<std::uint8_t> piece(std::min<std::uint64_t>(file.bytes, std::uint64_t{4} << 20));
    for (std::uint64_t at = 0; at < file.bytes;) {
      const auto bytes =
          std::span(piece).first(std::min<std::uint64_t>(piece.size(), file.bytes - at));
      if (auto read = source->read(at, bytes); !read) return std::move(read).error();
      for (std::size_t sent = 0; sent < bytes.size();) {
        const auto count = ::write(out.get(), bytes.data() + sent, bytes.size() - sent);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return cannot("write", target, errno);
        sent += static_cast<std::size_t>(count);
      }
      at += bytes.size();
      done_ += bytes.size();
      tell();
    }
    tell();
    const timespec written{.tv_sec = file.written_ns / 1'000'000'000,
                           .tv_nsec = file.written_ns % 1'000'000'000};
    const timespec times[2] = {written, written};
    if (::futimens(out.get(), times) != 0) return cannot("write", target, errno);
    return Ok{};
  }

  void tell() {
    using std::chrono::seconds;
    const auto now = Clock::now();
    if (now - marked_ > std::chrono::milliseconds(200)) {
      lock_.write(fmt::format("{} steps, {} bytes", ++steps_, done_));
      marked_ = now;
    }
    if (now - told_ < seconds(5)) return;
    options_.say(progress());
    told_ = now;
  }

  const StagingOptions& options_;
  const CopyLock& lock_;
  const std::vector<StagedFile>& files_;
  std::uint64_t total_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t steps_ = 0;
  Clock::time_point start_ = Clock::now();
  Clock::time_point marked_ = start_;
  Clock::time_point told_ = start_;
};

/// Until this process holds the lock. Returns what the process said at last that was waited for;
/// nothing when there was none.
Result<std::string> wait_for(const CopyLock& lock, const StagingOptions& options) {
  bool waited = false;
  std::string seen;
  auto changed = Clock::now();
  while (!lock.take()) {
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
  return waited ? lock.text() : "";
}

}  // namespace

Result<fs::path> stage_dataset(const StagingOptions& options) {
  std::error_code failed;
  fs::create_directories(options.to, failed);
  if (failed) return cannot("make", options.to, failed.value());
  const fs::path from = fs::weakly_canonical(options.from, failed);
  // Folders of one name at different places have copies of their own.
  const std::string name =
      fmt::format("{}-{:016x}", from.filename().string(), random_key(0, from.string()));
  const fs::path whole = options.to / name;
  const CopyLock lock(options.to / ("." + name + ".lock"));
  if (!lock.opened()) return cannot("write", options.to, errno);
  auto said = wait_for(lock, options);
  if (!said) return std::move(said).error();
  if (said->starts_with(failed_mark)) {
    return Error{ErrorKind::unavailable, said->substr(failed_mark.size()), ""};
  }
  if (*said == whole_mark && fs::is_directory(whole, failed)) return whole;
  lock.write("begun");
  auto files = list(from);
  if (!files) return std::move(files).error();
  if (fs::is_directory(whole, failed)) {
    if (auto present = list(whole); present && *present == *files) {
      lock.write(std::string(whole_mark));
      return whole;
    }
  }
  Copy copy(options, lock, *files);
  auto copied = copy.run(options.to / ("." + name + ".partial"), whole);
  if (!copied) {
    fs::remove_all(options.to / ("." + name + ".partial"), failed);
    lock.write(std::string(failed_mark) + copied.error().what);
    return std::move(copied).error();
  }
  lock.write(std::string(whole_mark));
  options.say(copy.progress());
  return whole;
}

}  // namespace dllaunch

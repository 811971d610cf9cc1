#include "runtime/rank/run_ownership.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <ctime>
#include <memory>
#include <random>
#include <vector>

#include "support/regular_file.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

/// A larger number is not a fencing token, but damage or another program's file.
constexpr std::int64_t max_fencing_token = 1'000'000'000'000;
constexpr std::int64_t kept = 8;  // old names, for people who look
constexpr std::size_t longest_text = 4096;
constexpr std::size_t longest_word = 255;
constexpr std::string_view temporary_prefix = ".tmp-";

fs::path folder_of(const fs::path& run_dir) {
  return run_dir / ".lease";
}

fs::path name_of(const fs::path& run_dir, std::int64_t token) {
  return folder_of(run_dir) / std::to_string(token);
}

Error refused(const fs::path& run_dir, std::string_view what, int why) {
  return {ErrorKind::unavailable,
          fmt::format("cannot {} {}: {}", what, folder_of(run_dir).string(), std::strerror(why)),
          "check that the run directory exists and is writable, then start again"};
}

struct TakenNames {
  std::vector<std::int64_t> tokens;  // ascending
  std::vector<std::string> temporaries;

  std::int64_t highest() const { return tokens.empty() ? 0 : tokens.back(); }
};

/// Lists the names. One that exists throughout the call is included. A missing folder has none.
Result<TakenNames> look(const fs::path& run_dir) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(folder_of(run_dir).c_str()),
                                                   &::closedir);
  TakenNames names;
  if (!folder) return errno == ENOENT ? Result<TakenNames>(names) : refused(run_dir, "read", errno);
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (const auto token = parse_fencing_token(name)) names.tokens.push_back(*token);
    if (name.starts_with(temporary_prefix)) names.temporaries.emplace_back(name);
  }
  if (errno != 0) return refused(run_dir, "read", errno);
  std::ranges::sort(names.tokens);
  return names;
}

/// Reduces untrusted text to one line.
std::string word_of(std::string_view text) {
  std::string word(text.substr(0, longest_word));
  std::ranges::replace_if(
      word, [](unsigned char c) { return c < 0x21 || c > 0x7e; }, '?');
  return word;
}

std::string render(const RunOwner& owner) {
  return fmt::format("host {}\npid {}\njob {}\nrestart {}\nsince {:.3f}\n", word_of(owner.host),
                     owner.pid, word_of(owner.job), owner.restart, owner.since);
}

template <typename T>
void read_number(std::string_view text, T& number) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem == std::errc() && end == text.data() + text.size() && value >= 0) number = value;
}

/// Complete lines count; missing or invalid ones keep their default.
RunOwner parse(std::string_view text) {
  RunOwner owner;
  for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos;) {
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const auto blank = line.find(' ');
    if (blank == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, blank);
    const std::string_view value = line.substr(blank + 1);
    if (key == "host") owner.host = word_of(value);
    if (key == "job") owner.job = word_of(value);
    if (key == "pid") read_number(value, owner.pid);
    if (key == "restart") read_number(value, owner.restart);
    if (key == "since") read_number(value, owner.since);
  }
  if (!std::isfinite(owner.since)) owner.since = 0;
  return owner;
}

/// Returns an empty owner if the name is not a regular file.
RunOwner read_holder(const fs::path& name) {
  const int file = open_regular_file(name.string(), FileLinks::refused);
  if (file < 0) return {};
  const auto text = bytes_at(file, 0, longest_text);
  ::close(file);
  return parse(text);
}

/// Returns whether the file exists with all of its text.
bool write_new(const fs::path& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return false;
  const bool whole = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::fsync(file);
  return ::close(file) == 0 && whole;
}

/// Creates the name together with its content. Returns 0, or errno: EEXIST if it is taken.
int make_name(const fs::path& run_dir, std::int64_t token, const std::string& text) {
  const fs::path name = name_of(run_dir, token);
  std::random_device random;
  const fs::path temporary =
      folder_of(run_dir) / fmt::format("{}{:08x}{:08x}", temporary_prefix, random(), random());
  int why = EIO;
  if (write_new(temporary, text)) {
    why = ::link(temporary.c_str(), name.c_str()) == 0 ? 0 : errno;
    // NFS may lose a reply and repeat the request, which then reports EEXIST for our own name.
    struct stat info {};
    if (why != 0 && ::stat(temporary.c_str(), &info) == 0 && info.st_nlink == 2) why = 0;
  }
  ::unlink(temporary.c_str());
  if (why == 0 || why == EEXIST) return why;
  // No hard links, or no space for the content: the name alone suffices.
  const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return errno;
  [[maybe_unused]] const ssize_t ignored = ::write(file, text.data(), text.size());
  ::close(file);
  return 0;
}

/// Returns 0 or errno. Ok if the file system does not support it.
int sync_folder(const fs::path& folder) {
  const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return errno;
  const int why = ::fsync(opened) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
  ::close(opened);
  return why;
}

/// Removes old names, the lowest first, on which stands() relies, and files left by killed takers.
/// A taker that loses its temporary file tries again.
void clean_up(const fs::path& run_dir, std::int64_t ours) {
  const auto names = look(run_dir);
  if (!names) return;
  for (const std::int64_t token : names->tokens) {
    if (token > ours - kept) break;
    const fs::path name = name_of(run_dir, token);
    if (::unlink(name.c_str()) != 0) ::rmdir(name.c_str());
  }
  constexpr std::time_t old_s = 3600;
  for (const auto& temporary : names->temporaries) {
    const fs::path path = folder_of(run_dir) / temporary;
    struct stat info {};
    if (::lstat(path.c_str(), &info) == 0 && info.st_mtime + old_s < std::time(nullptr)) {
      ::unlink(path.c_str());
    }
  }
}

/// Returns whether the name just created is the highest, and so was never used before.
///
/// A taker that pauses between looking and creating may create a name that existed and was removed
/// since. Its remover had a higher one. Let M be the highest token in use when our look begins: its
/// name exists then. The look can miss it only if it is removed meanwhile, by the taker of a token
/// above M. That taker looked after our look began, so it saw our name too and removed it first, as
/// the lower one. Hence: if we see no higher name, and ours still exists after the look, no higher
/// token was in use.
Result<bool> stands(const fs::path& run_dir, std::int64_t ours) {
  const auto names = look(run_dir);
  if (!names) return names.error();
  struct stat info {};
  return names->highest() == ours && ::lstat(name_of(run_dir, ours).c_str(), &info) == 0;
}

}  // namespace

std::optional<std::int64_t> parse_fencing_token(std::string_view text) {
  std::int64_t token = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, token);
  const bool plain = problem == std::errc() && stop == end && text.front() != '0';
  if (!plain || token < 1 || token > max_fencing_token) return std::nullopt;
  return token;
}

Result<RunOwnership> RunOwnership::take(const fs::path& run_dir, const RunOwner& owner,
                                        std::int64_t above) {
  if (::mkdir(folder_of(run_dir).c_str(), 0700) == 0) {
    // Otherwise a power loss may remove the name with its content.
    if (const int why = sync_folder(run_dir); why != 0) return refused(run_dir, "write into", why);
  } else if (errno != EEXIST) {
    return refused(run_dir, "make", errno);
  }
  const std::string text = render(owner);
  constexpr int most_tries = 10'000;  // each lost to another taker
  for (int i = 0; i < most_tries; ++i) {
    const auto names = look(run_dir);
    if (!names) return names.error();
    const std::int64_t token = std::max(names->highest(), above) + 1;
    if (token > max_fencing_token) {
      return Error{
          ErrorKind::unavailable,
          fmt::format("{} is not a fencing token of a run", name_of(run_dir, token - 1).string()),
          "remove it"};
    }
    const int why = make_name(run_dir, token, text);
    if (why == EEXIST) continue;
    if (why != 0) return refused(run_dir, "write into", why);
    const auto stood = stands(run_dir, token);
    if (!stood || !*stood) ::unlink(name_of(run_dir, token).c_str());
    if (!stood) return stood.error();
    if (!*stood) continue;
    if (const int unsure = sync_folder(folder_of(run_dir)); unsure != 0) {
      ::unlink(name_of(run_dir, token).c_str());
      return refused(run_dir, "write into", unsure);
    }
    clean_up(run_dir, token);
    return RunOwnership(run_dir, token);
  }
  return Error{
      ErrorKind::timeout,
      fmt::format("cannot take {}: other processes took it first every time", run_dir.string()),
      "find what else starts this run"};
}

RunOwnership RunOwnership::told(fs::path run_dir, std::int64_t token) {
  return {std::move(run_dir), token};
}

Result<Ok> RunOwnership::check() const {
  const auto names = look(run_dir_);
  if (!names) return names.error();
  const std::int64_t highest = names->highest();
  if (highest <= fencing_token_) return Ok{};
  return Error{
      ErrorKind::unsatisfiable,
      fmt::format("run directory was taken over by {} (fencing token {}, ours is {})",
                  to_string(read_holder(name_of(run_dir_, highest))), highest, fencing_token_),
      ""};
}

Result<std::optional<std::pair<std::int64_t, RunOwner>>> run_owner(const fs::path& run_dir) {
  using Found = std::optional<std::pair<std::int64_t, RunOwner>>;
  const auto names = look(run_dir);
  if (!names) return names.error();
  const std::int64_t highest = names->highest();
  if (highest == 0) return Found();
  return Found(std::pair(highest, read_holder(name_of(run_dir, highest))));
}

std::string to_string(const RunOwner& owner) {
  if (owner.host.empty()) return "another dllaunch";
  if (!owner.job.empty()) return fmt::format("job {} on {}", owner.job, owner.host);
  return fmt::format("process {} on {}", owner.pid, owner.host);
}

}  // namespace dllaunch

#include "launcher/daemon/run_text.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "support/regular_file.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_logs = 100'000;

/// A symbolic link could lead outside the run.
bool has_out(const RunDir& dir) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(dir.out(), error));
}

void add_names(const std::string& folder, bool all, std::vector<std::string>& names) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end;
       !error && at != end && names.size() < most_logs; at.increment(error)) {
    const auto name = at->path().filename().string();
    const bool log = name.ends_with(".log") || name.ends_with(".out") || name.ends_with(".err");
    if (!name.starts_with('.') && (all || log)) names.push_back(name);
  }
}

Result<RunText> read_part(const std::string& path, std::int64_t from, std::uint64_t limit) {
  const int fd = open_regular_file(path, FileLinks::refused);
  struct stat info {};
  if (fd < 0 || fstat(fd, &info) != 0) {
    const std::string why = errno == EINVAL ? "not a regular file" : std::strerror(errno);
    return Error{ErrorKind::unavailable, fmt::format("cannot read {}: {}", path, why), ""};
  }
  RunText part{.text = {}, .from = 0, .bytes = static_cast<std::uint64_t>(info.st_size)};
  const auto back = static_cast<std::uint64_t>(-(from + 1)) + 1;
  part.from = from >= 0 ? std::min(static_cast<std::uint64_t>(from), part.bytes)
                        : part.bytes - std::min(back, part.bytes);
  const auto wanted = std::min({limit, most_text_bytes, part.bytes - part.from});
  part.text = bytes_at(fd, part.from, wanted);
  close(fd);
  return part;
}

}  // namespace

std::vector<std::string> log_names(const RunDir& dir) {
  std::vector<std::string> names;
  if (has_out(dir)) add_names(dir.out(), true, names);
  add_names(dir.path, false, names);
  std::ranges::sort(names);
  return names;
}

Result<RunText> read_log(const RunDir& dir, const std::string& name, std::int64_t from,
                         std::uint64_t limit) {
  const auto names = log_names(dir);
  if (!std::binary_search(names.begin(), names.end(), name))
    return Error{ErrorKind::bad_request, "the run has no log of that name", ""};
  std::error_code ignored;
  const auto inner = dir.out() + "/" + name;
  const bool in_out = has_out(dir) && fs::exists(inner, ignored);
  return read_part(in_out ? inner : dir.path + "/" + name, from, limit);
}

Result<RunText> read_events(const RunDir& dir, std::int64_t from, std::uint64_t limit) {
  auto part = read_part(dir.events(), from, limit);
  if (!part) return part;
  const auto end = part->text.rfind('\n');
  part->text.resize(end == std::string::npos ? 0 : end + 1);
  return part;
}

}  // namespace dllaunch

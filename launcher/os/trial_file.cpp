#include "launcher/os/trial_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace dllaunch {
namespace {

constexpr std::size_t trial_bytes = std::size_t{256} << 10;

std::string pattern() {
  std::string text(trial_bytes, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 31 + (i >> 8));
  return text;
}

TrialFailure failed(const char* step) {
  const int error = errno;
  return {fmt::format("{}: {}", step, std::strerror(error)), error};
}

TrialFailure write_whole(int file, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = write(file, text.data() + at, text.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return failed("write");
    at += static_cast<std::size_t>(count);
  }
  // Network file systems report a full disk or an exceeded quota only here.
  return fsync(file) == 0 ? TrialFailure{} : failed("fsync");
}

TrialFailure read_again(int file, const std::string& text) {
  std::string again(text.size(), '\0');
  for (std::size_t at = 0; at < again.size();) {
    const ssize_t count = pread(file, again.data() + at, again.size() - at, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("read");
    if (count == 0) return {.what = "read: the file is shorter than what was written"};
    at += static_cast<std::size_t>(count);
  }
  if (again != text) return {.what = "read: not what was written"};
  return {};
}

}  // namespace

TrialFailure write_trial_file(const std::string& folder) {
  std::string name = folder + "/.dllaunch-preflight-XXXXXX";
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) return failed("create");
  unlink(name.c_str());
  const auto text = pattern();
  auto trouble = write_whole(file, text);
  if (trouble.what.empty()) trouble = read_again(file, text);
  if (close(file) != 0 && trouble.what.empty()) trouble = failed("close");
  return trouble;
}

}  // namespace dllaunch

#include "launcher/rank/rendezvous/user_key.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include "launcher/os/atomic_file.hpp"
#include "support/network/proof.hpp"
#include "support/network/sockets.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t key_bytes = 64;  // 256 bits as hexadecimal digits

Error no_key(const std::string& what) {
  return {ErrorKind::bad_request, "ranks of several nodes need a key: " + what, token_remedy};
}

/// Returns nullopt if the file does not exist.
std::optional<Result<std::string>> read_key(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0 && (errno == ENOENT || errno == ESTALE)) return std::nullopt;
  if (file < 0) return no_key(fmt::format("cannot read {}: {}", path, last_error()));
  struct stat info {};
  std::string key(key_bytes, '\0');
  const bool looked = fstat(file, &info) == 0;
  const bool is_whole = looked && S_ISREG(info.st_mode) && info.st_size == key_bytes &&
                        read(file, key.data(), key_bytes) == static_cast<ssize_t>(key_bytes);
  close(file);
  if (!looked || info.st_uid != geteuid()) return no_key(path + " belongs to another user");
  if (!is_whole) return no_key(path + " is not a key; remove it");
  if ((info.st_mode & 077) != 0)
    return no_key(path + " can be read or written by others: remove it");
  return key;
}

/// Uses link(), which is atomic and never replaces another node's key. Returns 0 or errno.
int make_key(const std::string& folder, const std::string& path) {
  if (const int why = make_private_folder(folder); why != 0) return why;
  const auto unfinished = fmt::format("{}.{}", path, new_nonce());
  const int file =
      open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  const auto key = new_secret();
  bool written = write(file, key.data(), key.size()) == static_cast<ssize_t>(key.size());
  written = fsync(file) == 0 && written;
  written = close(file) == 0 && written;
  const bool linked = written && link(unfinished.c_str(), path.c_str()) == 0;
  const int why = linked ? 0 : errno;
  unlink(unfinished.c_str());
  return why;
}

}  // namespace

Result<std::string> user_key(const std::string& folder) {
  if (folder.empty()) return no_key("HOME is not set, so there is no folder for it");
  const auto path = folder + "/rendezvous.key";
  if (auto key = read_key(path)) return *std::move(key);
  // NFS may report an error for a call that was retried after it had succeeded.
  const int why = make_key(folder, path);
  constexpr int looks = 20;
  for (int i = 0; i < looks; ++i) {
    if (auto key = read_key(path)) return *std::move(key);
    // NFS caches that a file does not exist; opening its folder refreshes the cache.
    const int looked = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (looked < 0) break;
    close(looked);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return no_key(fmt::format("cannot make {}: {}", path, std::strerror(why)));
}

}  // namespace dllaunch

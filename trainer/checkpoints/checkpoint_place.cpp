#include "trainer/checkpoints/checkpoint_place.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "runtime/rank/run_ownership.hpp"
#include "trainer/checkpoints/checkpoint.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = ".tmp-";

Error cannot_write(const fs::path& path, const std::string& why) {
  return {ErrorKind::unavailable, fmt::format("cannot write {}: {}", path.string(), why),
          "free disk space or make the folder writable, then run again: it resumes"};
}

}  // namespace

std::string temporary_name(std::int64_t fencing_token, std::string_view what) {
  return fencing_token > 0 ? fmt::format("{}{}-{}", prefix, fencing_token, what)
                           : fmt::format("{}{}", prefix, what);
}

bool is_leftover(std::string_view name, std::int64_t fencing_token) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  const auto writer = parse_fencing_token(name.substr(0, name.find('-')));
  return fencing_token == 0 || writer.value_or(0) <= fencing_token;
}

int exchange_names(const fs::path& one, const fs::path& other) {
  const int failed = ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
  return failed == 0 ? 0 : errno;
}

Result<Ok> sync_directory(const fs::path& directory) {
  const int opened = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int failed = opened < 0 || ::fsync(opened) != 0 ? errno : 0;
  if (opened >= 0) ::close(opened);
  // Some network file systems neither support nor need syncing a directory.
  if (opened >= 0 && failed == EINVAL) failed = 0;
  if (failed != 0) return cannot_write(directory, std::strerror(failed));
  return Ok{};
}

Result<Ok> put_in_place(const fs::path& temporary, const fs::path& final,
                        const ExchangeNames& exchange) {
  std::error_code failed;
  // Another incarnation may create or remove `final` between any two system calls.
  constexpr int most_tries = 10;
  for (int i = 0; i < most_tries; ++i) {
    if (fs::exists(final, failed)) {
      const bool swapped = exchange(temporary, final) == 0;
      const auto there = swapped ? Result<Checkpoint>(Checkpoint()) : read_checkpoint(final);
      if (there) {
        // After a power failure the old directory may have the final name again, so it must stay
        // complete. Unless the swap is known to be on disk, both are kept.
        if (auto synced = sync_directory(final.parent_path()); !synced) return synced;
        fs::remove_all(temporary, failed);
        return Ok{};
      }
      // It may be valid: what cannot be read is not removed.
      if (there.error().kind == ErrorKind::unavailable) {
        fs::remove_all(temporary, failed);
        return there.error();
      }
      // A temporary name marks it as removable.
      const fs::path aside = fs::path(temporary.string() + "-unsound");
      fs::remove_all(aside, failed);
      fs::rename(final, aside, failed);
      fs::remove_all(aside, failed);
    }
    fs::rename(temporary, final, failed);
    if (!failed) return Ok{};
    if (failed != std::errc::directory_not_empty && failed != std::errc::file_exists) break;
  }
  auto refused = cannot_write(final, failed.message());
  fs::remove_all(temporary, failed);
  return refused;
}

}  // namespace dllaunch

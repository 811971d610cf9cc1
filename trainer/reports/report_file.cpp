#include "trainer/reports/report_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>

#include <fmt/core.h>

#include "support/run_file.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr mode_t public_mode = 0644;

Error refused(const fs::path& file, int why) {
  return {ErrorKind::unavailable,
          fmt::format("cannot write {}: {}", file.string(), std::strerror(why)), ""};
}

/// Closes the file on every path.
struct Opened {
  int descriptor;
  ~Opened() {
    if (descriptor >= 0) ::close(descriptor);
  }
};

}  // namespace

Result<Ok> append_whole(int descriptor, std::string_view text, std::int64_t& size) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(descriptor, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int why = count < 0 ? errno : ENOSPC;
      const bool cut = done == 0 || ::ftruncate(descriptor, size) == 0;
      return Error{ErrorKind::unavailable,
                   fmt::format("{}{}", std::strerror(why), cut ? "" : ", its end is damaged"), ""};
    }
    done += static_cast<std::size_t>(count);
  }
  size += static_cast<std::int64_t>(text.size());
  return Ok{};
}

Result<Ok> replace_file(const fs::path& file, std::string_view text) {
  // The leading dot marks a temporary file, which readers ignore.
  const fs::path temporary = temporary_beside(file);
  {
    const Opened out{
        open_run_file(file.parent_path(), temporary, O_WRONLY | O_CREAT | O_EXCL, public_mode)};
    if (out.descriptor < 0) return refused(file, errno);
    std::int64_t size = 0;
    if (auto written = append_whole(out.descriptor, text, size); !written) {
      ::unlink(temporary.c_str());
      return std::move(written).error().within("cannot write " + file.string());
    }
  }
  if (::rename(temporary.c_str(), file.c_str()) == 0) return Ok{};
  const int why = errno;
  ::unlink(temporary.c_str());
  return refused(file, why);
}

Result<Ok> append_to_file(const fs::path& file, std::string_view text) {
  const Opened out{
      open_run_file(file.parent_path(), file, O_WRONLY | O_CREAT | O_APPEND, public_mode)};
  struct stat state {};
  if (out.descriptor < 0 || ::fstat(out.descriptor, &state) != 0) return refused(file, errno);
  std::int64_t size = state.st_size;
  if (auto written = append_whole(out.descriptor, text, size); !written) {
    return std::move(written).error().within("cannot write " + file.string());
  }
  return Ok{};
}

Result<Ok> set_file_aside(const fs::path& file) {
  std::error_code failed;
  fs::path aside;
  for (int i = 1; aside.empty() || fs::exists(aside, failed); ++i) {
    aside = fs::path(file.string() + fmt::format(".{}", i));
  }
  fs::rename(file, aside, failed);
  if (!failed) return Ok{};
  return Error{ErrorKind::unavailable,
               fmt::format("cannot move {} aside: {}", file.string(), failed.message()), ""};
}

}  // namespace dllaunch

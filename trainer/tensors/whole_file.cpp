#include "trainer/tensors/whole_file.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>

#include "support/regular_file.hpp"

namespace dllaunch {
namespace {

Error unreadable(const std::string& name, int why) {
  constexpr std::array<int, 3> absent = {ENOENT, ENOTDIR, ELOOP};
  if (std::ranges::find(absent, why) != absent.end())
    return {ErrorKind::bad_request, name + " is missing", ""};
  // EINVAL: open_regular_file() refused a FIFO or a device.
  const bool no_file = why == EISDIR || why == EINVAL;
  return {no_file ? ErrorKind::bad_request : ErrorKind::unavailable,
          fmt::format("{} cannot be read: {}", name,
                      why == EINVAL ? "it is not a regular file" : std::strerror(why)),
          ""};
}

Result<std::vector<std::byte>> read_open_file(int file, const std::string& name,
                                              const JudgeSize& judge) {
  struct stat info {};
  if (::fstat(file, &info) != 0) return unreadable(name, errno);
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (auto good = judge(size); !good) return std::move(good).error();
  std::vector<std::byte> content;
  try {
    content.resize(size);
  } catch (const std::bad_alloc&) {
    return Error{ErrorKind::unavailable,
                 fmt::format("{} has {} bytes, more than fit into memory", name, size), ""};
  }
  for (std::size_t done = 0; done < content.size();) {
    const ssize_t count = ::read(file, content.data() + done, content.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unreadable(name, errno);
    if (count == 0) {
      return Error{ErrorKind::bad_request, name + " was truncated while it was read", ""};
    }
    done += static_cast<std::size_t>(count);
  }
  return content;
}

}  // namespace

Result<std::vector<std::byte>> read_whole_file(const std::filesystem::path& path,
                                               const JudgeSize& judge) {
  const std::string name = path.filename().string();
  const int file = open_regular_file(path.string());
  if (file < 0) return unreadable(name, errno);
  auto content = read_open_file(file, name, judge);
  ::close(file);
  return content;
}

}  // namespace dllaunch

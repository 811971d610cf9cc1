#include "runtime/gpu/drivers.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace dllaunch {

Result<Ok> nvidia_driver() {
  // Left loaded: CUDA needs it anyway.
  if (::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr) return Ok{};
  const char* said = ::dlerror();
  return Error{
      ErrorKind::unavailable,
      fmt::format("no NVIDIA driver: {}", said == nullptr ? "libcuda.so.1 cannot be loaded" : said),
      ""};
}

Result<Ok> amd_driver(const std::string& device) {
  const int file = ::open(device.c_str(), O_RDWR | O_CLOEXEC);
  if (file >= 0) {
    ::close(file);
    return Ok{};
  }
  const int why = errno;
  if (why == ENOENT) return Error{ErrorKind::unavailable, "no AMD driver: no " + device, ""};
  return Error{ErrorKind::unavailable,
               fmt::format("AMD's driver: {}: {}", device, std::generic_category().message(why)),
               why == EACCES ? "your user must be in the group that owns it, render or video" : ""};
}

bool has_nvidia_driver() {
  return static_cast<bool>(nvidia_driver());
}

bool has_amd_driver() {
  return ::access("/dev/kfd", F_OK) == 0;
}

}  // namespace dllaunch

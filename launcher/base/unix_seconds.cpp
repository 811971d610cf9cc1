#include "launcher/base/unix_seconds.hpp"

#include <chrono>

namespace dllaunch {

double unix_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace dllaunch

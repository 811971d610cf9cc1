// Simulates a full disk.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace dllaunch {

/// While it lives, files written by this process cannot grow beyond a limit in bytes.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) {
    ignored_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, ignored_);
  }
  SizeLimit(const SizeLimit&) = delete;
  SizeLimit& operator=(const SizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*ignored_)(int) = nullptr;
};

}  // namespace dllaunch

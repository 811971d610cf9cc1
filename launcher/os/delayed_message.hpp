// Says that something takes long while it is being waited for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "launcher/os/system.hpp"

namespace dllaunch {

/// Notes `text` once if it lives longer than `patience`. While it lives nobody else may use the
/// world's note().
class SlowNote {
 public:
  SlowNote(World& world, std::string text, std::chrono::milliseconds patience);
  SlowNote(const SlowNote&) = delete;
  SlowNote& operator=(const SlowNote&) = delete;
  ~SlowNote();

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread waiting_;
};

}  // namespace dllaunch

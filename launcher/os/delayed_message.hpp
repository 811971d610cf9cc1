// Logs a message if an operation takes long.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "launcher/os/system.hpp"

namespace dllaunch {

/// Logs `text` once if it lives longer than `patience`. System::log() must not be used elsewhere
/// meanwhile.
class DelayedMessage {
 public:
  DelayedMessage(System& system, std::string text, std::chrono::milliseconds patience);
  DelayedMessage(const DelayedMessage&) = delete;
  DelayedMessage& operator=(const DelayedMessage&) = delete;
  ~DelayedMessage();

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread waiting_;
};

}  // namespace dllaunch

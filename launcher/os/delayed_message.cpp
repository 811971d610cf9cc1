#include "launcher/os/delayed_message.hpp"

#include <utility>

namespace dllaunch {

DelayedMessage::DelayedMessage(System& system, std::string text, std::chrono::milliseconds patience)
    : waiting_([this, &system, patience, text = std::move(text)] {
        std::unique_lock lock(mutex_);
        if (!ended_.wait_for(lock, patience, [this] { return over_; })) system.log(text);
      }) {}

DelayedMessage::~DelayedMessage() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_one();
  waiting_.join();
}

}  // namespace dllaunch

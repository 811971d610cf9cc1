#include "launcher/os/delayed_message.hpp"

#include <utility>

namespace dllaunch {

SlowNote::SlowNote(World& world, std::string text, std::chrono::milliseconds patience)
    : waiting_([this, &world, patience, text = std::move(text)] {
        std::unique_lock lock(mutex_);
        if (!ended_.wait_for(lock, patience, [this] { return over_; })) world.note(text);
      }) {}

SlowNote::~SlowNote() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_one();
  waiting_.join();
}

}  // namespace dllaunch

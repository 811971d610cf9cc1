#include "launcher/daemon/event_watch.hpp"

#include <sys/stat.h>

#include <utility>

namespace dllaunch {

bool EventWatch::look() {
  struct stat info {};
  if (stat(path_.c_str(), &info) != 0) return false;
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (tail_ && size == size_) return false;
  const bool leaps = !tail_ || size < size_ || size - size_ > most_bytes;
  // A leap lands inside a line; the reader skips that partial line.
  if (leaps) {
    tail_.emplace(path_, size > most_bytes ? size - most_bytes : 0);
    history_ = History();
  }
  size_ = size;
  for (const auto& line : tail_->read(most_bytes)) {
    const auto event = parse_event(line);
    if (event && time_of(*event) >= from_s_ && history_.take(*event)) take_event(*event, progress_);
  }
  return true;
}

}  // namespace dllaunch

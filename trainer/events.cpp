#include "trainer/events.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dllaunch {

/// One event under construction; dump() turns NaN and infinity into null.
class EventLog::Line {
 public:
  explicit Line(std::string_view event) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    json_["time"] = std::chrono::duration<double>(now).count();
    json_["event"] = event;
  }

  template <typename T>
  Line& add(const char* name, const T& value) {
    json_[name] = value;
    return *this;
  }

  template <typename T>
  Line& add(const char* name, const std::optional<T>& value) {
    if (value) return add(name, *value);
    json_[name] = nullptr;
    return *this;
  }

  std::string text() const {
    return json_.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  }

 private:
  nlohmann::ordered_json json_;
};

Result<EventLog> EventLog::open(const std::filesystem::path& file) {
  EventLog log;
  log.file_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log.file_ < 0) {
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot write {}: {}", file.string(), std::strerror(errno)), ""};
  }
  return log;
}

EventLog::EventLog(EventLog&& other) noexcept
    : file_(std::exchange(other.file_, -1)), torn_(other.torn_), refused_(other.refused_) {}

EventLog& EventLog::operator=(EventLog&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(torn_, other.torn_);
  std::swap(refused_, other.refused_);
  return *this;
}

EventLog::~EventLog() {
  if (file_ >= 0) ::close(file_);
}

void EventLog::append(const std::string& line) {
  if (file_ < 0) return;
  const std::string text = torn_ ? "\n" + line : line;
  ssize_t written = -1;
  do {
    written = ::write(file_, text.data(), text.size());
  } while (written < 0 && errno == EINTR);
  if (written == static_cast<ssize_t>(text.size())) {
    torn_ = false;
    return;
  }
  torn_ = torn_ || written > 0;
  if (refused_) return;
  refused_ = true;
  fmt::print(stderr, "dltrain: warning: events.jsonl loses events: {}\n",
             written < 0 ? std::strerror(errno) : "disk full");
}

void EventLog::start(const StartEvent& event) {
  append(Line("start")
             .add("ranks", event.ranks)
             .add("nodes", event.nodes)
             .add("model", event.model)
             .add("parameters", event.parameters)
             .add("global_batch", event.global_batch)
             .add("epochs", event.epochs)
             .add("steps_per_epoch", event.steps_per_epoch)
             .add("images", event.images)
             .add("val_images", event.val_images)
             .add("backend", event.backend)
             .add("host", event.host)
             .text());
}

void EventLog::step(const StepEvent& event) {
  append(Line("step")
             .add("epoch", event.epoch)
             .add("step", event.step)
             .add("loss", event.loss)
             .add("lr", event.lr)
             .add("images_per_s", event.images_per_s)
             .text());
}

void EventLog::epoch(const EpochEvent& event) {
  append(Line("epoch")
             .add("epoch", event.epoch)
             .add("loss", event.loss)
             .add("accuracy", event.accuracy)
             .add("val_loss", event.val_loss)
             .add("val_accuracy", event.val_accuracy)
             .add("seconds", event.seconds)
             .add("images_per_s", event.images_per_s)
             .text());
}

void EventLog::checkpoint(const CheckpointEvent& event) {
  append(Line("checkpoint")
             .add("path", event.path)
             .add("epoch", event.epoch)
             .add("step", event.step)
             .add("seconds_blocked", event.seconds_blocked)
             .add("seconds_total", event.seconds_total)
             .add("bytes", event.bytes)
             .text());
}

void EventLog::restart(std::string_view reason, std::string_view from) {
  append(Line("restart").add("reason", reason).add("from", from).text());
}

void EventLog::end(std::string_view status, double seconds) {
  append(Line("end").add("status", status).add("seconds", seconds).text());
}

}  // namespace dllaunch

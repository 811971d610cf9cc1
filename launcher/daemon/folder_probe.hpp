// Whether a folder's file system responds. Opening a file on a hung file system blocks forever,
// beyond signals. A disposable thread blocks instead of the caller.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace dllaunch {

class FolderProbe {
 public:
  /// Returns the device of a folder, nullopt if it does not exist; may hang.
  using Look = std::function<std::optional<dev_t>(const std::string&)>;

  explicit FolderProbe(Look look = device_of,
                       std::chrono::milliseconds limit = std::chrono::seconds(2))
      : look_(std::move(look)), limit_(limit) {}

  /// Whether the folder's file system responds; also true if there is no such folder. Thread-safe.
  /// Waits at most `limit`, and not at all if the file system is known to hang or responded within
  /// the last second.
  bool answers(const std::string& folder);

  static std::optional<dev_t> device_of(const std::string& folder);

 private:
  struct Question;
  using Clock = std::chrono::steady_clock;
  std::optional<bool> known(const std::string& folder);
  std::shared_ptr<Question> ask(const std::string& folder) const;

  Look look_;
  std::chrono::milliseconds limit_;
  std::mutex mutex_;
  std::map<std::string, dev_t> devices_;                      // by folder that responded
  std::map<dev_t, Clock::time_point> good_;                   // last response by device
  std::map<std::string, std::shared_ptr<Question>> waiting_;  // one thread each
};

}  // namespace dllaunch

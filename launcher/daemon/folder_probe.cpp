#include "launcher/daemon/folder_probe.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <thread>
#include <utility>

namespace dllaunch {
namespace {

/// Threads that may wait at once. Beyond that, folders count as not responding.
constexpr std::size_t most_waiting = 16;
/// Above this size the cache is cleared.
constexpr std::size_t most_known = 100'000;

}  // namespace

struct FolderProbe::Question {
  std::mutex mutex;
  std::condition_variable answered;
  bool done = false;
  std::optional<dev_t> device;
};

/// Opens the folder: a network file system may cache its attributes.
std::optional<dev_t> FolderProbe::device_of(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  struct stat info {};
  const bool good = fstat(fd, &info) == 0;
  close(fd);
  return good ? std::optional(info.st_dev) : std::nullopt;
}

std::optional<bool> FolderProbe::known(const std::string& folder) {
  constexpr std::chrono::seconds fresh(1);
  std::erase_if(waiting_, [](const auto& entry) {
    const std::lock_guard guard(entry.second->mutex);
    return entry.second->done;
  });
  const auto device = devices_.find(folder);
  const bool hangs = std::ranges::any_of(waiting_, [&](const auto& entry) {
    const auto other = devices_.find(entry.first);
    return entry.first == folder ||
           (device != devices_.end() && other != devices_.end() && other->second == device->second);
  });
  if (hangs || waiting_.size() >= most_waiting) return false;
  if (device == devices_.end()) return std::nullopt;
  const auto last = good_.find(device->second);
  const bool good = last != good_.end() && Clock::now() - last->second < fresh;
  return good ? std::optional(true) : std::nullopt;
}

std::shared_ptr<FolderProbe::Question> FolderProbe::ask(const std::string& folder) const {
  auto question = std::make_shared<Question>();
  // The thread may outlive this object; it touches only what it owns.
  std::thread([question, folder, look = look_] {
    const auto device = look(folder);
    const std::lock_guard guard(question->mutex);
    question->device = device;
    question->done = true;
    question->answered.notify_all();
  }).detach();
  return question;
}

bool FolderProbe::answers(const std::string& folder) {
  {
    const std::lock_guard guard(mutex_);
    if (const auto answer = known(folder)) return *answer;
  }
  const auto question = ask(folder);
  std::unique_lock waiting(question->mutex);
  const bool done = question->answered.wait_for(waiting, limit_, [&] { return question->done; });
  const auto device = question->device;
  waiting.unlock();
  const std::lock_guard guard(mutex_);
  if (!done) {
    waiting_.emplace(folder, question);
    return false;
  }
  if (devices_.size() >= most_known) devices_.clear();
  if (device) {
    devices_[folder] = *device;
    good_[*device] = Clock::now();
  }
  return true;
}

}  // namespace dllaunch

#include "runtime/gpu/sensors/gpu_sampler.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "runtime/gpu/sensors/xid.hpp"

namespace dllaunch {
namespace {

constexpr std::chrono::milliseconds patience{250};
constexpr std::size_t most_xids_told = 16;

double seconds_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace

struct GpuSampler::State {
  State() { meter.restart(seconds_now()); }

  mutable std::mutex mutex;
  std::condition_variable changed;
  GpuUseMeter meter;
  std::string trouble;
  bool ending = false;
};

GpuSampler::GpuSampler(GpuSamplerOptions options)
    : state_(std::make_shared<State>()),
      thread_("gpu sensors", patience,
              [state = state_, options = std::move(options)] { run(*state, options); }) {}

GpuSampler::~GpuSampler() {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->ending = true;
  }
  state_->changed.notify_all();
}

GpuUse GpuSampler::take() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->meter.take(seconds_now());
}

void GpuSampler::restart() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->meter.restart(seconds_now());
}

std::string GpuSampler::trouble() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->trouble;
}

/// The lock is held only between calls of the library and of `alarm`.
void GpuSampler::run(State& state, const GpuSamplerOptions& options) {
  auto sensors = GpuSensors::open(options.pci, options.libraries);
  GpuAlarms alarms(options.pci);
  std::unique_lock<std::mutex> lock(state.mutex);
  if (!sensors) {
    state.trouble = sensors.error().what;
    state.meter.add({.trouble = state.trouble}, seconds_now());
  }
  while (sensors && !state.ending) {
    lock.unlock();
    const GpuReading reading = (*sensors)->read();
    for (const std::string& line : alarms.of(reading)) {
      if (options.alarm) options.alarm(line);
    }
    lock.lock();
    state.meter.add(reading, seconds_now());
    state.trouble = reading.trouble;
    state.changed.wait_for(lock, options.period, [&] { return state.ending; });
  }
  lock.unlock();
  sensors = Error{};  // closing may hang too
}

std::vector<std::string> GpuAlarms::of(const GpuReading& reading) {
  std::vector<std::string> lines;
  for (const unsigned xid : reading.xids.value_or(std::vector<unsigned>{})) {
    if (told_xids_.size() == most_xids_told) break;
    if (std::ranges::find(told_xids_, xid) != told_xids_.end()) continue;
    told_xids_.push_back(xid);
    const auto [meaning, advice] = xid_words(xid);
    lines.push_back(fmt::format("GPU {}: XID {}, {}; {}", pci_, xid, meaning, advice));
  }
  if (reading.ecc_errors) {
    if (!ecc_errors_) ecc_errors_ = reading.ecc_errors;
    if (*reading.ecc_errors > *ecc_errors_ && !told_ecc_) {
      told_ecc_ = true;
      lines.push_back(fmt::format("GPU {}: {} memory errors that could not be corrected; {}", pci_,
                                  *reading.ecc_errors - *ecc_errors_, replace_gpu));
    }
  }
  if (!reading.trouble.empty() && !told_trouble_) {
    told_trouble_ = true;
    lines.push_back(fmt::format("GPU {} stopped responding: {}; {}", pci_, reading.trouble,
                                "check dmesg on its node"));
  }
  return lines;
}

}  // namespace dllaunch

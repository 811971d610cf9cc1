#include "trainer/reports/gpu_watch.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace dllaunch {
namespace {

/// A rank's host and GPU, in the layout that ranks gather.
struct Name {
  std::array<char, 64> host = {};
  std::array<char, 32> pci = {};
};

std::vector<Name> gather_names(Communicator& communicator, const GpuWatchOptions& options) {
  std::vector<Name> names(static_cast<std::size_t>(communicator.size()));
  Name& own = names[static_cast<std::size_t>(communicator.rank())];
  options.host.copy(own.host.data(), own.host.size() - 1);
  options.pci.copy(own.pci.data(), own.pci.size() - 1);
  communicator.wait(communicator.all_gather(names.data(), sizeof(Name), DType::u8));
  return names;
}

}  // namespace

GpuWatch::GpuWatch(Communicator& communicator, GpuWatchOptions options)
    : communicator_(communicator), steps_(std::move(options.steps)) {
  for (const Name& name : gather_names(communicator, options)) {
    any_ = any_ || name.pci[0] != '\0';
    if (communicator.rank() != 0) continue;
    names_.hosts.emplace_back(name.host.data());
    names_.pci.emplace_back(name.pci.data());
  }
  if (options.pci.empty()) return;
  sampler_.emplace(GpuSamplerOptions{.pci = std::move(options.pci),
                                     .libraries = std::move(options.libraries),
                                     .period = options.period,
                                     .alarm = std::move(options.alarm)});
}

void GpuWatch::begin_epoch() {
  if (steps_) steps_();  // discards steps of the learning rate search or of a validation
  if (sampler_) sampler_->restart();
}

EpochGpus GpuWatch::end_epoch(std::int64_t epoch) {
  if (!any_) return {};
  std::vector<GpuUse> all(static_cast<std::size_t>(communicator_.size()));
  GpuUse& own = all[static_cast<std::size_t>(communicator_.rank())];
  if (sampler_) own = sampler_->take();
  const StepTimes times = steps_ ? steps_() : StepTimes();
  own.steps = times.steps;
  own.busy_s = times.busy_s;
  own.exposed_s = times.exposed_s;
  own.gaps = times.gaps;
  own.idle_s = times.idle_s;
  communicator_.wait(communicator_.all_gather(all.data(), gpu_use_doubles, DType::f64));
  if (communicator_.rank() != 0) return {};
  EpochGpus gpus{.ranks = std::move(all), .hosts = names_.hosts, .pci = names_.pci};
  gpus.notes = news_.of(epoch, gpus, sampler_ ? sampler_->trouble() : "");
  return gpus;
}

}  // namespace dllaunch

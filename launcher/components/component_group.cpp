#include "launcher/components/component_group.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace dllaunch {

std::optional<std::size_t> ends_the_job(const std::vector<ComponentOutline>& components,
                                        const std::vector<std::optional<int>>& codes) {
  for (std::size_t i = 0; i < codes.size(); ++i)
    if (codes[i].value_or(0) != 0) return i;
  for (std::size_t i = 0; i < codes.size(); ++i)
    if (codes[i] && components[i].ends_job) return i;
  return std::nullopt;
}

Result<Ok> ComponentGroup::start(const std::vector<Start>& starts) {
  processes_.reserve(starts.size());
  for (const auto& start : starts) {
    auto started = start();
    if (!started) {
      processes_.clear();
      return std::move(started).error();
    }
    processes_.push_back(*std::move(started));
  }
  codes_.resize(processes_.size());
  return Ok{};
}

void ComponentGroup::look(Clock::time_point now) {
  for (std::size_t i = 0; i < processes_.size(); ++i)
    if (!codes_[i]) codes_[i] = processes_[i].poll();
  if (!decided_) {
    decided_ = ends_the_job(components_, codes_);
    // Slurm's own is TERM, which its ranks get too.
    if (decided_) send(SIGINT);
    if (decided_) kill_at_ = now + patience_;
  }
  if (!kill_at_ || now < *kill_at_) return;
  for (std::size_t i = 0; i < processes_.size(); ++i)
    if (!codes_[i]) kill(-processes_[i].pid(), SIGKILL);
}

void ComponentGroup::send(const std::function<int(const ComponentOutline&)>& signal) {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const int number = codes_[i] ? 0 : signal(components_[i]);
    if (number > 0) processes_[i].send(number);
  }
}

void ComponentGroup::send(int signal) {
  send([signal](const ComponentOutline&) { return signal; });
}

bool ComponentGroup::over() const {
  return std::ranges::all_of(codes_, [](const auto& code) { return code.has_value(); });
}

}  // namespace dllaunch

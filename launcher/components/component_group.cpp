#include "launcher/components/component_group.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace dllaunch {
namespace {

/// The file of what the process runs by now, whose path may change; nullopt: not known, as of one
/// that is about to end.
std::optional<std::pair<dev_t, ino_t>> program_of(pid_t pid) {
  struct stat info {};
  if (stat(fmt::format("/proc/{}/exe", pid).c_str(), &info) != 0) return std::nullopt;
  return std::pair(info.st_dev, info.st_ino);
}

}  // namespace

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
  told_at_.resize(processes_.size());
  interrupted_.resize(processes_.size());
  return Ok{};
}

void ComponentGroup::look(Clock::time_point now) {
  for (std::size_t i = 0; i < processes_.size(); ++i)
    if (!codes_[i]) codes_[i] = processes_[i].poll();
  if (!decided_) {
    decided_ = ends_the_job(components_, codes_);
    if (decided_) kill_at_ = now + grace_ + to_end_;
  }
  if (!kill_at_) return;
  tell_to_end(now);
  if (now < *kill_at_) return;
  for (std::size_t i = 0; i < processes_.size(); ++i)
    if (!codes_[i]) kill(-processes_[i].pid(), SIGKILL);
}

void ComponentGroup::tell_to_end(Clock::time_point now) {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const bool saves = told_at_[i] && now < *told_at_[i] + grace_;
    if (codes_[i] || saves) continue;
    // bash forgets a signal that it has a trap for and that comes as it gives way to the
    // supervisor, which is told too, then.
    const auto program = program_of(processes_[i].pid());
    if (interrupted_[i] && (!program || *program == *interrupted_[i])) continue;
    interrupted_[i] = program.value_or(std::pair<dev_t, ino_t>());
    // Slurm's own is TERM, which its ranks get too. A script ends when the command that it waits
    // for does, so that gets it as well; ranks are in groups of their own.
    kill(-processes_[i].pid(), SIGINT);
  }
}

void ComponentGroup::send(const std::function<int(const ComponentOutline&)>& signal) {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const int number = codes_[i] ? 0 : signal(components_[i]);
    if (number <= 0) continue;
    processes_[i].send(number);
    told_at_[i] = Clock::now();
  }
}

void ComponentGroup::send(int signal) {
  send([signal](const ComponentOutline&) { return signal; });
}

bool ComponentGroup::over() const {
  return std::ranges::all_of(codes_, [](const auto& code) { return code.has_value(); });
}

}  // namespace dllaunch

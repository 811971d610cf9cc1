// The components of a modular job as processes: started side by side, ended together.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "launcher/os/owned_process.hpp"
#include "launcher/plan/run_outline.hpp"
#include "support/awake_clock.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Whose end ends the job: the first that failed, else one that ends the job by completing.
/// nullopt: the job goes on. `codes`: exit codes; nullopt: it runs. Pure.
std::optional<std::size_t> ends_the_job(const std::vector<ComponentOutline>& components,
                                        const std::vector<std::optional<int>>& codes);

class ComponentGroup {
 public:
  using Clock = AwakeClock;

  /// One process for each component, in their order. One that is told to end has `grace` to save,
  /// and `to_end` after it.
  ComponentGroup(std::vector<ComponentOutline> components, std::chrono::seconds grace,
                 std::chrono::seconds to_end = {})
      : components_(std::move(components)), grace_(grace), to_end_(to_end) {}

  using Start = std::function<Result<OwnedProcess>()>;
  /// unavailable: it cannot be started; those before it are ended.
  Result<Ok> start(const std::vector<Start>& starts);

  /// Looks which have ended. When one has ended the job, the others are told to end, by INT, which
  /// a script's supervisor may get twice, and killed if they do not. Those that send() has told
  /// already may save undisturbed.
  void look(Clock::time_point now);
  /// To those that still run, each its own; 0: none.
  void send(const std::function<int(const ComponentOutline&)>& signal);
  void send(int signal);

  bool over() const;
  /// Whose end ended the job; nullopt: none, all have completed or run.
  std::optional<std::size_t> decided() const { return decided_; }
  /// Exit codes, 128+n after signal n.
  const std::vector<std::optional<int>>& codes() const { return codes_; }

 private:
  std::vector<ComponentOutline> components_;
  void tell_to_end(Clock::time_point now);

  std::chrono::seconds grace_;
  std::chrono::seconds to_end_;
  std::vector<OwnedProcess> processes_ = {};
  std::vector<std::optional<int>> codes_ = {};
  std::vector<std::optional<Clock::time_point>> told_at_ = {};
  /// The file of the program that was told by INT.
  std::vector<std::optional<std::pair<dev_t, ino_t>>> interrupted_ = {};
  std::optional<std::size_t> decided_ = {};
  std::optional<Clock::time_point> kill_at_ = {};
};

}  // namespace dllaunch

#include "runtime/watchdog/watchdog.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

#include <csignal>
#include <thread>
#include <utility>

#include "runtime/watchdog/async_notifier.hpp"
#include "runtime/watchdog/thread_stack.hpp"
#include "runtime/watchdog/watch.hpp"
#include "support/all_signals_blocked.hpp"
#include "support/awake_clock.hpp"

namespace dllaunch {
namespace {

constexpr int tick_ms = 100;
constexpr int busy_tick_ms = 10;

class RunningWatchdog final : public Watchdog {
 public:
  RunningWatchdog(WatchdogOptions options, Acquaintance acquaintance,
                  std::optional<SideChannel> channel, Activity& activity)
      : notifier_(std::move(options.say)),
        watch_(telling_through(std::move(options), notifier_), std::move(acquaintance),
               std::move(channel)),
        activity_(activity),
        stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    const AllSignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
    activity_.publish_in(watch_.record().beacon);  // last: nothing may fail after this
  }

  ~RunningWatchdog() override {
    stopping_ = true;
    ::eventfd_write(stop_.get(), 1);
    thread_.join();
    watch_.finish(monotonic_ns());
    // Not before: a watchdog that ends without this counts as dead.
    watch_.record().left.store(true, std::memory_order_release);
    activity_.publish_in_own();
  }

 private:
  void run() {
    ::prctl(PR_SET_NAME, "watchdog");  // for ps -L and gdb
    while (!stopping_) {
      watch_.tick(monotonic_ns());
      auto files = watch_.node().to_poll();
      files.push_back({.fd = stop_.get(), .events = POLLIN, .revents = 0});
      files.push_back({.fd = watch_.channel_fd(), .events = POLLIN, .revents = 0});
      poll_awake(files.data(), files.size(), watch_.is_busy() ? busy_tick_ms : tick_ms);
    }
  }

  /// `say` may block on a hung file system, so it never runs on this thread.
  static WatchdogOptions telling_through(WatchdogOptions options, AsyncNotifier& notifier) {
    options.say = [&notifier](const StallNotice& notice) { notifier.tell(notice); };
    return options;
  }

  AsyncNotifier notifier_;
  Watch watch_;
  Activity& activity_;
  FileDescriptor stop_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace

std::string_view to_string(StallState state) {
  switch (state) {
    case StallState::late:
      return "late";
    case StallState::over:
      return "over";
    case StallState::gave_up:
      return "gave up";
    case StallState::died:
      return "died";
  }
  return "";
}

std::unique_ptr<Watchdog> Watchdog::start(WatchdogOptions options, Communicator& communicator,
                                          Activity& activity) {
  prepare_stacks();
  if (options.end_with_parent) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::optional<SideChannel> channel;
  auto opened = SideChannel::open();
  if (opened) channel = *std::move(opened);
  const std::uint16_t port = channel ? channel->port() : std::uint16_t{0};
  auto acquaintance = introduce(communicator, options.host, port, options.group);
  // A single node needs no channel.
  if (acquaintance.roster.nodes.size() == 1) channel.reset();
  return std::make_unique<RunningWatchdog>(std::move(options), std::move(acquaintance),
                                           std::move(channel), activity);
}

}  // namespace dllaunch

#include "launcher/daemon/daemon.hpp"

#include <fmt/core.h>
#include <malloc.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "launcher/daemon/api.hpp"
#include "launcher/daemon/http_server.hpp"
#include "launcher/daemon/log_file.hpp"
#include "launcher/daemon/run_watch.hpp"
#include "launcher/daemon/store.hpp"
#include "launcher/os/atomic_file.hpp"

namespace dllaunch {
namespace {

/// Returns Unix seconds at process start plus the steady time since, unaffected by clock changes.
double steady_unix_seconds() {
  using Seconds = std::chrono::duration<double>;
  static const auto begin = std::chrono::steady_clock::now();
  static const Seconds at_begin = std::chrono::system_clock::now().time_since_epoch();
  return (at_begin + Seconds(std::chrono::steady_clock::now() - begin)).count();
}

std::chrono::milliseconds pause_until(double time_s, double now_s) {
  return std::chrono::milliseconds(static_cast<long long>(1000 * std::max(0.0, time_s - now_s)));
}

/// Wakes the main thread for a signal, a request or the end.
class WakeEvent {
 public:
  WakeEvent() {
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
    // Block before starting threads, which inherit the mask: only the signalfd receives them.
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    signals_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    wish_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  }
  WakeEvent(const WakeEvent&) = delete;
  WakeEvent& operator=(const WakeEvent&) = delete;
  ~WakeEvent() {
    close(signals_);
    close(wish_);
  }

  void notify() { eventfd_write(wish_, 1); }
  void stop() {
    stop_ = true;
    notify();
  }
  bool stopped() const { return stop_; }

  /// Returns whether it was notified.
  bool wait_until(std::chrono::steady_clock::time_point end) {
    constexpr std::chrono::milliseconds longest = std::chrono::hours(1);
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(std::min<std::chrono::steady_clock::duration>(
            end - std::chrono::steady_clock::now(), longest));
    std::array<pollfd, 2> watched = {pollfd{signals_, POLLIN, 0}, pollfd{wish_, POLLIN, 0}};
    const auto limit = static_cast<int>(std::max<long long>(left.count(), 0));
    if (poll(watched.data(), watched.size(), limit) <= 0) return false;
    if ((watched[0].revents & POLLIN) != 0) stop_ = true;
    eventfd_t count = 0;
    eventfd_read(wish_, &count);
    return true;
  }

 private:
  int signals_ = -1;
  int wish_ = -1;
  std::atomic<bool> stop_ = false;
};

struct Servers {
  std::unique_ptr<HttpServer> local;
  std::unique_ptr<HttpServer> tcp;
  int port = -1;
};

/// Renews the lock's signature in a thread of its own: a round may wait for Slurm.
class Renewal {
 public:
  Renewal(System& system, const DaemonLock& lock, WakeEvent& wake_event)
      : thread_([this, &system, &lock, &wake_event] {
          std::unique_lock guard(mutex_);
          while (!wake_.wait_for(guard, renewal_pause, [this] { return ended_; })) {
            if (lock.renew()) continue;
            system.log("dllaunch: the lock file was removed; stopping\n");
            wake_event.stop();
            return;
          }
        }) {}
  Renewal(const Renewal&) = delete;
  Renewal& operator=(const Renewal&) = delete;
  ~Renewal() {
    {
      const std::lock_guard guard(mutex_);
      ended_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false;
  std::thread thread_;
};

/// Listens in the state folder. If its file system has no sockets, listens in the run-time folder
/// and links there.
Result<int> listen_locally(System& system, const DaemonPaths& paths) {
  unlink(paths.socket().c_str());
  auto fd = listen_at(paths.socket());
  const auto elsewhere = system.environment("XDG_RUNTIME_DIR");
  if (fd || !elsewhere || !elsewhere->starts_with('/')) return fd;
  const auto folder = *elsewhere + "/dllaunch";
  if (auto made = make_private(folder); !made) return fd;
  auto other = listen_at(folder + "/socket");
  if (!other) return fd;
  unlink(paths.socket().c_str());
  if (symlink((folder + "/socket").c_str(), paths.socket().c_str()) == 0) return other;
  close(*other);
  return fd;
}

/// Restores the user's umask afterwards: jobs inherit it.
Result<Ok> write_secret(const std::string& path, const std::string& secret) {
  const auto before = umask(0077);
  auto written = write_file(path, secret + "\n");
  umask(before);
  return written;
}

struct TcpListener {
  int fd = -1;
  Listener listener = {};
};

Result<TcpListener> listen_on_tcp(const DaemonPaths& paths, int port) {
  auto listening = listen_on_loopback(port);
  if (!listening) return std::move(listening).error();
  TcpListener tcp{.fd = listening->first,
                  .listener = {.port = listening->second, .token = new_access_token()}};
  if (auto kept = write_secret(paths.token(), tcp.listener.token); !kept) {
    close(tcp.fd);
    return std::move(kept).error();
  }
  return tcp;
}

Result<Servers> open_listeners(System& system, const DaemonPaths& paths,
                               const DaemonSettings& settings, Api& api) {
  Servers servers;
  unlink(paths.token().c_str());
  std::optional<TcpListener> tcp;
  if (settings.port >= 0) {
    auto listening = listen_on_tcp(paths, settings.port);
    if (!listening) return std::move(listening).error();
    tcp = *std::move(listening);
    servers.port = tcp->listener.port;
    // Set before requests are accepted.
    api.set_port(servers.port);
  }
  const auto fd = listen_locally(system, paths);
  auto local =
      fd ? HttpServer::start(*fd, {}, api, {}) : Result<std::unique_ptr<HttpServer>>(fd.error());
  if (!local) {
    if (tcp) close(tcp->fd);
    return std::move(local).error();
  }
  servers.local = *std::move(local);
  if (!tcp) return servers;
  auto served = HttpServer::start(tcp->fd, tcp->listener, api, {});
  if (!served) return std::move(served).error();
  servers.tcp = *std::move(served);
  return servers;
}

}  // namespace

Result<Ok> run_daemon(System& system, const DaemonPaths& paths, const DaemonSettings& settings,
                      const DaemonLock& lock,
                      const std::function<void(const std::string&)>& ready) {
  // One heap: an arena per thread would triple an idle daemon's memory.
  mallopt(M_ARENA_MAX, 1);
  std::signal(SIGPIPE, SIG_IGN);
  WakeEvent wake_event;
  const double began_s = steady_unix_seconds();
  auto store = Store::open(paths.store(), began_s);
  if (!store) return std::move(store).error();
  RunWatch watch(system, **store, paths, settings);
  Api api(system, **store,
          {.began_s = began_s,
           .host = system.host_name(),
           .port = -1,
           .interval_s = settings.interval_s},
          {.snapshot = [&watch] { return watch.snapshot(); },
           .wake = [&wake_event] { wake_event.notify(); },
           .stop = [&wake_event] { wake_event.stop(); },
           .now_s = steady_unix_seconds,
           .answers = [&watch](const std::string& dir) { return watch.answers(dir); }});
  auto servers = open_listeners(system, paths, settings, api);
  if (!servers) return std::move(servers).error();
  const auto where =
      servers->port < 0 ? paths.socket()
                        : fmt::format("{} and http://127.0.0.1:{}/", paths.socket(), servers->port);
  system.log(fmt::format("dllaunch: daemon {} listens on {}\n", getpid(), where));
  ready(fmt::format(
      "daemon  process {} on {}\nsocket  {}\n{}", getpid(), system.host_name(), paths.socket(),
      servers->port < 0 ? ""
                        : fmt::format("page    http://127.0.0.1:{}/#token=$(cat {})\n",
                                      servers->port, paths.token())));
  const Renewal renewal(system, lock, wake_event);
  while (!wake_event.stopped()) {
    const double now_s = steady_unix_seconds();
    watch.look(now_s);
    malloc_trim(0);
    if (turn_over(paths.log())) system.log("dllaunch: the log continues here\n");
    const auto next = std::chrono::steady_clock::now() + pause_until(watch.next_s(), now_s);
    while (!wake_event.wait_until(next) && std::chrono::steady_clock::now() < next) continue;
  }
  system.log("dllaunch: the daemon ends\n");
  unlink(paths.socket().c_str());
  unlink(paths.token().c_str());
  lock.forget();
  return Ok{};
}

}  // namespace dllaunch

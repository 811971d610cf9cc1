// An HTTP server on a unix socket or 127.0.0.1 for one user. Only http_server.cpp includes
// libmicrohttpd.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "launcher/daemon/api.hpp"
#include "launcher/daemon/http_rules.hpp"

// NOLINTBEGIN(readability-identifier-naming): the library's own names
struct MHD_Daemon;
struct MHD_Connection;
// NOLINTEND(readability-identifier-naming)

namespace dllaunch {

/// Limits for all clients together.
struct HttpLimits {
  unsigned connections = 256;  // more wait in the kernel's queue
  std::size_t bytes_per_connection = 16384;
  unsigned quiet_s = 5;            // idle timeout
  std::chrono::seconds head{2};    // to receive the request head; local clients send it at once
  std::chrono::seconds whole{20};  // per connection, in total
};

/// Serves requests in its own threads until destroyed. One request per connection.
class HttpServer {
 public:
  /// `fd`: a listening socket; the server takes ownership. unavailable: no threads or memory.
  static Result<std::unique_ptr<HttpServer>> start(int fd, Listener listener, Api& api,
                                                   HttpLimits limits);

  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  std::size_t connections() const;

 private:
  struct Callbacks;
  using Clock = std::chrono::steady_clock;

  HttpServer(Listener listener, Api& api, HttpLimits limits)
      : door_(std::move(listener)), api_(api), limits_(limits) {}
  void opened(int fd);
  void asked(int fd);
  void closed(int fd);
  bool is_peer(int fd) const;
  void end_old_connections();

  Listener door_;
  Api& api_;
  HttpLimits limits_;
  MHD_Daemon* daemon_ = nullptr;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, Clock::time_point> ends_;  // descriptor -> deadline
  bool over_ = false;
  std::thread timer_;  // sleeps while there is no connection
};

/// Listens on a unix socket with mode 0600 and replaces an existing file. Supports paths longer
/// than a socket address. unavailable: for example, the file system has no sockets.
Result<int> listen_at(const std::string& path);
/// Listens on 127.0.0.1; port 0: any. Returns the descriptor and the port.
Result<std::pair<int, int>> listen_on_loopback(int port);

}  // namespace dllaunch

#include "launcher/daemon/http_server.hpp"

#include <fmt/core.h>
#include <microhttpd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace dllaunch {
namespace {

/// State of one request while its body arrives.
struct Received {
  std::string body = {};
};

std::string header(MHD_Connection* connection, const char* name) {
  const char* value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? std::string() : value;
}

int fd_of(MHD_Connection* connection) {
  const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == nullptr ? -1 : info->connect_fd;
}

/// Allows only the page's own script and style, through an unpredictable nonce. Names and logs in a
/// page spell no tag.
std::string with_nonce(std::string page, const std::string& nonce) {
  const auto attribute = fmt::format(" nonce=\"{}\"", nonce);
  for (const std::string_view tag : {"<style>", "<script>"})
    for (auto at = page.find(tag); at != std::string::npos; at = page.find(tag, at + 1))
      page.insert(at + tag.size() - 1, attribute);
  return page;
}

MHD_Result send(MHD_Connection* connection, ApiAnswer answer) {
  const auto nonce = new_access_token().substr(0, 32);
  if (answer.type.starts_with("text/html")) answer.body = with_nonce(std::move(answer.body), nonce);
  auto* response = MHD_create_response_from_buffer(answer.body.size(), answer.body.data(),
                                                   MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  const auto add = [response](const char* name, const std::string& value) {
    MHD_add_response_header(response, name, value.c_str());
  };
  add("Content-Type", answer.type);
  add("Connection", "close");
  add("Cache-Control", "no-store");
  add("X-Content-Type-Options", "nosniff");
  add("X-Frame-Options", "DENY");
  add("Referrer-Policy", "no-referrer");
  add("Cross-Origin-Resource-Policy", "same-origin");
  add("Content-Security-Policy",
      fmt::format("default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; connect-src "
                  "'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors "
                  "'none'",
                  nonce));
  for (const auto& [name, value] : answer.headers) add(name.c_str(), value);
  const auto sent = MHD_queue_response(connection, static_cast<unsigned>(answer.status), response);
  MHD_destroy_response(response);
  return sent;
}

MHD_Result add_query(void* to, MHD_ValueKind, const char* key, const char* value) {
  auto& query = *static_cast<std::map<std::string, std::string>*>(to);
  query[key] = value == nullptr ? "" : value;
  return MHD_YES;
}

HttpHead head_of(MHD_Connection* connection, const char* url, const char* method) {
  return {.method = method,
          .path = url,
          .host = header(connection, MHD_HTTP_HEADER_HOST),
          .origin = header(connection, MHD_HTTP_HEADER_ORIGIN),
          .site = header(connection, "Sec-Fetch-Site"),
          .authorization = header(connection, MHD_HTTP_HEADER_AUTHORIZATION),
          .content_length = header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH)};
}

void drop_log(void*, const char*, va_list) {}

}  // namespace

/// Callbacks of libmicrohttpd; they do not throw.
struct HttpServer::Callbacks {
  // NOLINTNEXTLINE(readability-function-size): the library's own parameters
  static MHD_Result request(void* server, MHD_Connection* connection, const char* url,
                            const char* method, const char* /*version*/, const char* upload,
                            std::size_t* upload_bytes, void** own) {
    try {
      const std::string_view piece(upload, upload == nullptr ? 0 : *upload_bytes);
      *upload_bytes = 0;
      return answer(*static_cast<HttpServer*>(server), connection, head_of(connection, url, method),
                    piece, own);
    } catch (const std::exception&) {
      return MHD_NO;  // out of memory: closes this connection
    }
  }
  /// Called once with the head, once per piece of the body, and once at the end.
  static MHD_Result answer(HttpServer& server, MHD_Connection* connection, const HttpHead& head,
                           std::string_view piece, void** own) {
    if (*own == nullptr) {
      server.asked(fd_of(connection));
      if (!server.is_peer(fd_of(connection)))
        return send(connection, error_answer(403, "this daemon serves another user"));
      if (const auto refusal = refuse(head, server.door_))
        return send(connection, error_answer(refusal->status, refusal->why));
      *own = new Received;
      return MHD_YES;
    }
    auto& received = *static_cast<Received*>(*own);
    if (!piece.empty()) {
      received.body += piece;
      return received.body.size() > most_body_bytes ? MHD_NO : MHD_YES;
    }
    if (const auto refusal = refuse_body(received.body))
      return send(connection, error_answer(refusal->status, refusal->why));
    ApiRequest request{.method = head.method, .path = head.path};
    MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_query, &request.query);
    return send(connection, server.api_.answer(request));
  }
  static void completed(void*, MHD_Connection*, void** own, MHD_RequestTerminationCode) {
    delete static_cast<Received*>(*own);
    *own = nullptr;
  }
  static void connection(void* server, MHD_Connection* connection, void**,
                         MHD_ConnectionNotificationCode what) {
    auto* self = static_cast<HttpServer*>(server);
    const int fd = fd_of(connection);
    what == MHD_CONNECTION_NOTIFY_STARTED ? self->opened(fd) : self->closed(fd);
  }
};

Result<std::unique_ptr<HttpServer>> HttpServer::start(int fd, Listener listener, Api& api,
                                                      HttpLimits limits) {
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(listener), api, limits));
  constexpr unsigned threads = 2;  // a hung file system blocks only one of them
  constexpr std::size_t stack_bytes = 512 << 10;
  server->daemon_ = MHD_start_daemon(
      MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL | MHD_USE_ITC, 0, nullptr, nullptr,
      Callbacks::request, server.get(), MHD_OPTION_EXTERNAL_LOGGER, drop_log, nullptr,
      MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_THREAD_POOL_SIZE, threads,
      MHD_OPTION_THREAD_STACK_SIZE, stack_bytes, MHD_OPTION_CONNECTION_LIMIT, limits.connections,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits.bytes_per_connection,
      MHD_OPTION_CONNECTION_TIMEOUT, limits.quiet_s, MHD_OPTION_NOTIFY_COMPLETED,
      Callbacks::completed, nullptr, MHD_OPTION_NOTIFY_CONNECTION, Callbacks::connection,
      server.get(), MHD_OPTION_END);
  const int error = errno;
  if (server->daemon_ != nullptr) {
    auto* self = server.get();
    server->timer_ = std::thread([self] { self->end_old_connections(); });
    return server;
  }
  close(fd);
  return Error{ErrorKind::unavailable, fmt::format("cannot serve HTTP: {}", std::strerror(error)),
               ""};
}

HttpServer::~HttpServer() {
  if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  {
    const std::lock_guard guard(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (timer_.joinable()) timer_.join();
}

/// Rejects other users before a byte is read.
void HttpServer::opened(int fd) {
  if (!is_peer(fd)) shutdown(fd, SHUT_RD);
  const std::lock_guard guard(mutex_);
  ends_[fd] = Clock::now() + std::min(limits_.head, limits_.whole);
  changed_.notify_one();
}

/// The head has arrived: the short deadline for slow clients no longer applies.
void HttpServer::asked(int fd) {
  const std::lock_guard guard(mutex_);
  const auto known = ends_.find(fd);
  if (known == ends_.end()) return;
  known->second = Clock::now() + limits_.whole;
  changed_.notify_one();
}

void HttpServer::closed(int fd) {
  const std::lock_guard guard(mutex_);
  ends_.erase(fd);
}

/// A separate thread, so that connections end on time even if other threads hang.
void HttpServer::end_old_connections() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    auto next = Clock::time_point::max();
    const auto now = Clock::now();
    // A listed descriptor is still open: closed() removes it first.
    for (auto& [fd, end] : ends_) {
      if (now >= end) {
        shutdown(fd, SHUT_RDWR);
        end = Clock::time_point::max();
      }
      next = std::min(next, end);
    }
    if (next == Clock::time_point::max()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, next);
    }
  }
}

std::size_t HttpServer::connections() const {
  const std::lock_guard guard(mutex_);
  return ends_.size();
}

bool HttpServer::is_peer(int fd) const {
  if (door_.port >= 0) return true;
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

}  // namespace dllaunch

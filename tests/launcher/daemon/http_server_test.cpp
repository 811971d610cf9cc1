// The daemon's API under abuse: real sockets, hostile clients.
#include "launcher/daemon/http_server.hpp"

#include <dlfcn.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "launcher/daemon/client/client.hpp"
#include "launcher/daemon/metrics.hpp"
#include "tests/launcher/stored_runs.hpp"
#include "tests/support/emulator.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view head = "GET /v1/daemon HTTP/1.1\r\nHost: localhost\r\n";

class HttpServerTest : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    store_ = *Store::open(paths_.path_of("store.db"), 1);
    api_ = std::make_unique<Api>(paths_.system, *store_, DaemonFacts{},
                                 Api::Hooks{.snapshot = [] { return std::make_shared<Snapshot>(); },
                                            .wake = [] {},
                                            .stop = [] {},
                                            .now_s = [] { return 1.0; }});
    RunRecord run{.name = "a", .launcher = "slurm", .state = "running"};
    run.dir = paths_.store({.folder = "a", .job_id = "7"});
    std::ofstream(run.dir + "/out/big.log") << std::string(4 << 20, 'x');
    ASSERT_TRUE(store_->save(run));
  }
  void listen(HttpLimits limits = {}) {
    const auto fd = listen_at(path());
    ASSERT_TRUE(fd) << fd.error().what;
    auto server = HttpServer::start(*fd, {}, *api_, limits);
    ASSERT_TRUE(server);
    server_ = *std::move(server);
  }
  void listen_tcp() {
    const auto listening = listen_on_loopback(0);
    ASSERT_TRUE(listening);
    port_ = listening->second;
    auto server =
        HttpServer::start(listening->first, {.port = port_, .token = "secret"}, *api_, {});
    ASSERT_TRUE(server);
    server_ = *std::move(server);
  }
  std::string path() const { return paths_.path_of("socket"); }

  int connect_to() const {
    if (port_ >= 0) {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      address.sin_port = htons(static_cast<std::uint16_t>(port_));
      const int fd = socket(AF_INET, SOCK_STREAM, 0);
      return connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 ? fd : -1;
    }
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 ? fd : -1;
  }
  static void write_to(int fd, std::string_view text) {
    while (!text.empty()) {
      const ssize_t done = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
      if (done <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(done));
    }
  }
  static std::string read_from(int fd, std::chrono::seconds limit = 10s) {
    const timeval patience{.tv_sec = limit.count(), .tv_usec = 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::string text;
    std::array<char, 65536> piece{};
    for (ssize_t got = 0; (got = recv(fd, piece.data(), piece.size(), 0)) > 0;)
      text.append(piece.data(), static_cast<std::size_t>(got));
    close(fd);
    return text;
  }
  std::string ask(const std::string& request) const {
    const int fd = connect_to();
    if (fd < 0) return "no connection";
    write_to(fd, request);
    return read_from(fd);
  }
  std::string get(const std::string& url, const std::string& more = "") const {
    const auto port = port_ < 0 ? "" : ":" + std::to_string(port_);
    return ask("GET " + url + " HTTP/1.1\r\nHost: localhost" + port + "\r\n" + more + "\r\n");
  }
  static void expect_memory_below(std::uint64_t bytes) {
    // A sanitizer keeps what was freed.
    for (const char* runtime : {"__asan_init", "__tsan_init"})
      if (dlsym(RTLD_DEFAULT, runtime) != nullptr) return;
    EXPECT_LT(process_figures(0, 0).resident_bytes, bytes);
  }
  /// It still answers, has no connection left, and no more files open than before.
  void expect_unharmed(int files_before) {
    EXPECT_THAT(get("/v1/daemon"), StartsWith("HTTP/1.1 200"));
    // A connection is forgotten before its descriptor is closed.
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while ((server_->connections() > 0 || process_figures(0, 0).open_files > files_before) &&
           std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(20ms);
    EXPECT_EQ(server_->connections(), 0u);
    EXPECT_LE(process_figures(0, 0).open_files, files_before);
  }

  RunPlace paths_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<HttpServer> server_;
  int port_ = -1;
};

std::string nonce_of(const std::string& answer) {
  constexpr std::string_view before = "script-src 'nonce-";
  const auto at = answer.find(before);
  EXPECT_NE(at, std::string::npos);
  return at == std::string::npos ? "none" : answer.substr(at + before.size(), 32);
}

TEST_F(HttpServerTest, NoNameInAPageBecomesItsNonce) {
  RunRecord run{.name = "b", .launcher = "slurm", .state = "running"};
  run.dir = paths_.store({.folder = "b", .name = "@NONCE@ <style> <script>", .job_id = "8"});
  ASSERT_TRUE(store_->save(run));
  listen();
  const auto answer = get("/v1/runs/b/report");
  const auto page = answer.substr(answer.find("\r\n\r\n"));
  EXPECT_THAT(page, HasSubstr("@NONCE@ &lt;style&gt;"));
  const auto nonce = nonce_of(answer);
  const auto at = page.find(nonce);
  EXPECT_THAT(page.substr(0, at), testing::EndsWith("<style nonce=\""));
  EXPECT_EQ(page.find(nonce, at + 1), std::string::npos);
}

TEST_F(HttpServerTest, AnswersAndCloses) {
  listen();
  const auto answer = get("/v1/daemon");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(answer, HasSubstr("Connection: close"));
  EXPECT_THAT(answer, HasSubstr("\"rounds\""));
  const auto page = get("/");
  const auto nonce = nonce_of(page);
  for (const char* tag : {"script", "style"})
    EXPECT_THAT(page, HasSubstr(fmt::format("<{} nonce=\"{}\">", tag, nonce)));
  EXPECT_THAT(get("/"), testing::Not(HasSubstr(nonce))) << "another one each time";
}

TEST_F(HttpServerTest, TheCommandLineSpeaksWithIt) {
  listen();
  const DaemonPaths paths{.folder = paths_.path_of("")};
  const auto answer = ask_daemon(paths, "GET", "/v1/runs", 5s);
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->pid, getpid());
  EXPECT_THAT(answer->body, HasSubstr("\"run\":\"a\""));

  // As `status` asks, by the folder's name; of another run of that name it tells nothing.
  const auto state = paths_.path_of("state");
  paths_.system.variables["XDG_STATE_HOME"] = state;
  const DaemonPaths own = *daemon_paths(paths_.system);
  std::filesystem::create_directories(own.folder);
  std::filesystem::create_symlink(path(), own.socket());
  auto run = **store_->find("a");
  run.decision = "submitted again";
  ASSERT_TRUE(store_->save(run));
  EXPECT_EQ(daemons_word(paths_.system, run.dir), "submitted again");
  EXPECT_EQ(daemons_word(paths_.system, "/elsewhere/a"), "");
  EXPECT_EQ(daemons_word(paths_.system, "/elsewhere/<b> c"), "");
  EXPECT_FALSE(tell_daemon(paths_.system, "/elsewhere/a", "cancel"));
  EXPECT_TRUE(tell_daemon(paths_.system, run.dir, "leave"));
  EXPECT_EQ((*store_->find("a"))->wish, "leave");
  server_.reset();
  EXPECT_EQ(daemons_word(paths_.system, run.dir), "");
  EXPECT_EQ(ask_daemon(paths, "GET", "/", 1s).error().kind, ErrorKind::unavailable);
}

TEST_F(HttpServerTest, APathThatIsTooLongForASocketsAddress) {
  const auto deep = paths_.path_of(std::string(90, 'd')) + "/" + std::string(90, 'e');
  std::filesystem::create_directories(deep);
  const auto fd = listen_at(deep + "/socket");
  ASSERT_TRUE(fd) << fd.error().what;
  server_ = *HttpServer::start(*fd, {}, *api_, {});
  const auto answer = ask_daemon({.folder = deep}, "GET", "/v1/daemon", 5s);
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->status, 200);
}

/// Folder and socket keep others out; without either the kernel's word about the peer does.
TEST_F(HttpServerTest, AnotherUserIsShownTheDoor) {
  if (geteuid() != 0) GTEST_SKIP() << "unavailable: another user, to be";
  listen();
  struct stat info {};
  ASSERT_EQ(stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const auto as_nobody = [&] {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
      if (setgid(65534) != 0 || setuid(65534) != 0) _exit(1);
      const int fd = connect_to();
      if (fd >= 0) write_to(fd, std::string(head) + "\r\n");
      const auto text = fd < 0 ? std::string("no connection") : read_from(fd, 5s);
      if (write(ends[1], text.data(), std::min<std::size_t>(text.size(), 4096)) < 0) _exit(1);
      _exit(0);
    }
    close(ends[1]);
    std::string text(5000, '\0');
    const ssize_t got = read(ends[0], text.data(), text.size());
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return text;
  };
  EXPECT_EQ(as_nobody(), "no connection");
  chmod(path().c_str(), 0777);
  std::filesystem::permissions(paths_.path_of(""), std::filesystem::perms::all);
  const auto shown = as_nobody();
  EXPECT_NE(shown, "no connection") << "then the kernel's word was not asked for";
  EXPECT_THAT(shown, testing::Not(HasSubstr("HTTP/1.1 200")));
  EXPECT_THAT(shown, testing::Not(HasSubstr("rounds")));
  EXPECT_THAT(get("/v1/daemon"), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, TcpTakesTheTokenOnly) {
  listen_tcp();
  EXPECT_THAT(get("/"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(get("/v1/runs"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(get("/v1/runs", "Authorization: Bearer wrong\r\n"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(get("/v1/runs", "Authorization: Bearer secret\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(get("/metrics"), StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(ask("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"), StartsWith("HTTP/1.1 421"));
}

TEST_F(HttpServerTest, AThousandClientsAtOnce) {
  listen();
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, 4096);
  setrlimit(RLIMIT_NOFILE, &files);
  const int before = process_figures(0, 0).open_files;
  const auto memory = process_figures(0, 0).resident_bytes;
  constexpr int clients = 1000;
  std::vector<int> sockets;
  for (int i = 0; i < clients; ++i) {
    const int fd = connect_to();
    ASSERT_GE(fd, 0) << i;
    write_to(fd, std::string(head) + "\r\n");
    sockets.push_back(fd);
  }
  int answered = 0;
  for (const int fd : sockets) answered += read_from(fd).starts_with("HTTP/1.1 200") ? 1 : 0;
  EXPECT_EQ(answered, clients);
  expect_memory_below(memory + (32U << 20U));
  expect_unharmed(before);
}

TEST_F(HttpServerTest, TenMegabytesOfBody) {
  if (under_an_emulator()) GTEST_SKIP() << "an emulator needs memory of its own";
  listen();
  const int before = process_figures(0, 0).open_files;
  const auto memory = process_figures(0, 0).resident_bytes;
  const std::string body(10 << 20, 'x');
  const std::string post = "POST /v1/runs/a/cancel HTTP/1.1\r\nHost: localhost\r\n";
  const auto told = ask(post + "Content-Length: 10485760\r\n\r\n" + body);
  EXPECT_TRUE(told.empty() || told.starts_with("HTTP/1.1 413")) << told;
  // Without saying how much it will be.
  const auto chunked = ask(post + "Transfer-Encoding: chunked\r\n\r\na00000\r\n" + body);
  EXPECT_THAT(chunked, testing::Not(HasSubstr("202")));
  // A head of any length is no way either.
  EXPECT_THAT(ask("GET /" + body + " HTTP/1.1\r\n\r\n"), testing::Not(HasSubstr(" 200 ")));
  EXPECT_THAT(get("/v1/daemon", "X: " + body + "\r\n"), testing::Not(HasSubstr(" 200 ")));
  EXPECT_EQ((*store_->find("a"))->wish, "") << "none of it was taken for a wish";
  expect_memory_below(memory + (32U << 20U));
  expect_unharmed(before);
}

/// More than it serves at once, and none of them ever ends its head.
TEST_F(HttpServerTest, FourHundredSlowClientsDoNotBlockOthers) {
  listen();
  std::vector<int> sockets;
  for (int i = 0; i < 400; ++i) {
    sockets.push_back(connect_to());
    ASSERT_GE(sockets.back(), 0) << i;
    write_to(sockets.back(), "GET /v1/da");
  }
  std::atomic<bool> over = false;
  std::thread dribble([&] {
    while (!over) {
      for (const int fd : sockets) write_to(fd, "x");
      std::this_thread::sleep_for(100ms);
    }
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(get("/v1/daemon"), StartsWith("HTTP/1.1 200"));
  // Twice the time for a head, and patience for a slow machine; it was 25 s and more.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  over = true;
  dribble.join();
  for (const int fd : sockets) close(fd);
}

/// As many as it serves at all, each a byte now and then: others wait, but not for long.
TEST_F(HttpServerTest, SlowLoris) {
  listen({.connections = 8, .quiet_s = 2, .whole = 1s});
  const int before = process_figures(0, 0).open_files;
  std::vector<int> sockets;
  for (int i = 0; i < 8; ++i) {
    sockets.push_back(connect_to());
    write_to(sockets.back(), "GET /v1/da");
  }
  std::atomic<bool> over = false;
  std::thread dribble([&] {
    while (!over) {
      for (const int fd : sockets) write_to(fd, "x");
      std::this_thread::sleep_for(100ms);
    }
  });
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(get("/v1/daemon"), StartsWith("HTTP/1.1 200"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  over = true;
  dribble.join();
  for (const int fd : sockets) close(fd);
  expect_unharmed(before);
}

/// Asks for a megabyte and never reads it.
TEST_F(HttpServerTest, AReaderThatDoesNotRead) {
  listen({.connections = 4, .quiet_s = 1, .whole = 1s});
  const int before = process_figures(0, 0).open_files;
  std::vector<int> sockets;
  for (int i = 0; i < 4; ++i) {
    sockets.push_back(connect_to());
    write_to(sockets.back(),
             "GET /v1/runs/a/logs/big.log?limit=1048576 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  EXPECT_THAT(get("/v1/daemon"), StartsWith("HTTP/1.1 200"));
  for (const int fd : sockets) close(fd);
  expect_unharmed(before);
}

TEST_F(HttpServerTest, RequestsThatAreNone) {
  listen({.quiet_s = 1});
  const int before = process_figures(0, 0).open_files;
  for (const std::string& text : {
           std::string("\r\n\r\n\r\n"),
           std::string("GET\r\n\r\n"),
           std::string("\x16\x03\x01\x02", 4),
           std::string(5000, '\xff') + "\r\n\r\n",
           std::string("GET /v1/daemon HTTP/9.9\r\n\r\n"),
           std::string("GET /v1/daemon HTTP/1.1\r\nHost localhost\r\n\r\n"),
           std::string("GET /v1/daemon HTTP/1.1\r\n\r\n"),
           std::string("POST /v1/runs/a/cancel HTTP/1.1\r\nHost: localhost\r\n"
                       "Content-Length: 5\r\nContent-Length: 6\r\nContent-Length: x\r\n\r\nhello"),
           std::string("POST /v1/runs/a/cancel HTTP/1.1\r\nHost: localhost\r\n"
                       "Content-Length: 9\r\n\r\n{\"run\": [1"),
           std::string("POST /v1/runs/a/cancel HTTP/1.1\r\nHost: localhost\r\n"
                       "Transfer-Encoding: chunked\r\n\r\nzz\r\n"),
           std::string(
               "GET /v1/runs/a/logs/..%2f..%2fplan.json HTTP/1.1\r\nHost: localhost\r\n\r\n"),
           std::string("GET /v1/runs/a/logs/%2e%2e/plan.json HTTP/1.1\r\nHost: localhost\r\n\r\n"),
           std::string("GET /v1/runs/a/logs/big.log%00.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"),
           std::string("GET /v1/runs?limit=%zz&&&=&limit HTTP/1.1\r\nHost: localhost\r\n\r\n"),
       }) {
    const int fd = connect_to();
    write_to(fd, text);
    shutdown(fd, SHUT_WR);
    const auto answer = read_from(fd, 8s);
    EXPECT_THAT(answer, testing::Not(HasSubstr("\"rounds\""))) << text.substr(0, 100);
    EXPECT_THAT(answer, testing::Not(HasSubstr("launcher"))) << text.substr(0, 100);
    EXPECT_THAT(answer, testing::Not(HasSubstr(" 202 "))) << text.substr(0, 100);
  }
  expect_unharmed(before);
}

/// Random bytes after a plausible beginning, and connections that break off.
TEST_F(HttpServerTest, Noise) {
  listen();
  const int before = process_figures(0, 0).open_files;
  unsigned state = 12345;
  const auto random = [&state] { return (state = state * 1103515245U + 12345U) >> 16U; };
  for (int i = 0; i < 300; ++i) {
    std::string text = std::string(head) + "\r\n";
    for (unsigned n = random() % 8; n > 0; --n)
      text[random() % text.size()] = static_cast<char>(random());
    text.resize(random() % (text.size() + 1));
    const int fd = connect_to();
    ASSERT_GE(fd, 0);
    write_to(fd, text);
    close(fd);
  }
  expect_unharmed(before);
}

}  // namespace
}  // namespace dllaunch

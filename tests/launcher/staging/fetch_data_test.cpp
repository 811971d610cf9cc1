// Real curl, md5sum and tar against a server of this machine, whose files are damaged, cut off and
// refused on the way.
#include "launcher/staging/fetch_data.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "launcher/os/posix_system.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// python3's http.server with ranges, and a log of what was asked for. A folder's file `.cut` makes
/// it hang up after so many bytes of each answer.
constexpr const char* server_program = R"(
import http.server, os, sys, time
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = os.path.join(sys.argv[1], self.path.lstrip('/'))
        asked = self.headers.get('Range', '')
        open(sys.argv[2], 'a').write(self.path + ' ' + asked + '\n')
        if not os.path.isfile(path):
            self.send_error(404); return
        content = open(path, 'rb').read()
        begin = int(asked[6:].split('-')[0]) if asked else 0
        if begin >= len(content) and asked:
            self.send_error(416); return
        self.send_response(206 if asked else 200)
        self.send_header('Content-Length', str(len(content) - begin))
        if asked:
            end = len(content)
            self.send_header('Content-Range', 'bytes %d-%d/%d' % (begin, end - 1, end))
        self.end_headers()
        cut = os.path.join(sys.argv[1], '.cut')
        most = int(open(cut).read()) if os.path.exists(cut) else len(content)
        half = len(content) // 2 if os.path.exists(os.path.join(sys.argv[1], '.slow')) else 0
        self.wfile.write(content[begin:begin + half])
        self.wfile.flush()
        if half: time.sleep(0.7)
        self.wfile.write(content[begin + half:begin + most])
    def log_message(self, *a): pass
s = http.server.HTTPServer(('127.0.0.1', 0), H)
print(s.server_address[1], flush=True)
s.serve_forever()
)";

class FetchData : public testing::Test {
 protected:
  void SetUp() override {
    std::string form = (fs::temp_directory_path() / "fetch-data-XXXXXX").string();
    root_ = mkdtemp(form.data());
    fs::create_directories(root_ / "served");
    for (const char* program : {"curl", "md5sum", "tar", "python3"}) {
      if (!system_.find_program(program)) GTEST_SKIP() << "unavailable: " << program;
    }
    start_server();
  }

  void TearDown() override {
    if (server_ > 0) {
      kill(server_, SIGKILL);
      waitpid(server_, nullptr, 0);
    }
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  void start_server() {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    server_ = fork();
    if (server_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      const std::string served = (root_ / "served").string();
      const std::string log = (root_ / "log").string();
      execlp("python3", "python3", "-c", server_program, served.c_str(), log.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    std::array<char, 32> port{};
    ASSERT_GT(read(ends[0], port.data(), port.size() - 1), 0);
    close(ends[0]);
    url_ = "http://127.0.0.1:" + std::to_string(std::atoi(port.data())) + "/";
  }

  void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }

  static std::string read_file(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }

  std::string md5(const fs::path& path) {
    return system_.run({"md5sum", path.string()}, std::chrono::seconds(60))->out.substr(0, 32);
  }

  /// One plain file and one archive with a folder `pictures` in it.
  PublishedSet set() {
    write(root_ / "served/plain.gz", std::string(100'000, 'p') + "end");
    write(root_ / "content/pictures/a.bin", "picture");
    EXPECT_EQ(system_
                  .run({"tar", "-czf", (root_ / "served/some.tar.gz").string(), "-C",
                        (root_ / "content").string(), "pictures"},
                       std::chrono::seconds(60))
                  ->exit_code,
              0);
    return {"test",
            url_,
            {{"plain.gz", md5(root_ / "served/plain.gz"), ""},
             {"some.tar.gz", md5(root_ / "served/some.tar.gz"), "pictures"}}};
  }

  Result<Ok> fetch(const PublishedSet& set, const std::string& mirror = "") {
    return fetch_data(system_, set, {.folder = to().string(), .mirror = mirror});
  }

  fs::path to() const { return root_ / "to"; }
  std::string log() const { return read_file(root_ / "log"); }

  int left() const {
    int count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(to())) ++count;
    return count;
  }

  fs::path root_;
  std::string url_;
  pid_t server_ = -1;
  PosixSystem system_{Console{.verbosity = -1}};
};

TEST_F(FetchData, GetsChecksAndUnpacksOnce) {
  const auto published = set();
  auto got = fetch(published);
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(read_file(to() / "plain.gz").size(), 100'003u);
  EXPECT_EQ(read_file(to() / "pictures/a.bin"), "picture");
  EXPECT_EQ(left(), 2);
  const std::string asked = log();
  ASSERT_TRUE(fetch(published));
  EXPECT_EQ(log(), asked);
}

TEST_F(FetchData, GoesOnWhereItStopped) {
  const auto published = set();
  fs::create_directories(to());
  write(to() / ".plain.gz.partial", std::string(60'000, 'p'));
  ASSERT_TRUE(fetch(published));
  EXPECT_THAT(log(), HasSubstr("/plain.gz bytes=60000-"));
  EXPECT_EQ(read_file(to() / "plain.gz"), std::string(100'000, 'p') + "end");
}

TEST_F(FetchData, AServerThatHangsUpIsAskedAgainByTheNextCall) {
  const auto published = set();
  write(root_ / "served/.cut", "70000");
  auto cut = fetch(published);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(cut.error().hint, HasSubstr("resumes the download"));
  EXPECT_EQ(fs::file_size(to() / ".plain.gz.partial"), 70'000u);
  fs::remove(root_ / "served/.cut");
  ASSERT_TRUE(fetch(published));
  EXPECT_THAT(log(), HasSubstr("/plain.gz bytes=70000-"));
}

TEST_F(FetchData, WhatIsLongerThanTheFileBeginsAnew) {
  const auto published = set();
  fs::create_directories(to());
  write(to() / ".plain.gz.partial", std::string(200'000, 'x'));
  auto got = fetch(published);
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(read_file(to() / "plain.gz"), std::string(100'000, 'p') + "end");
}

TEST_F(FetchData, AWrongChecksumLeavesNothing) {
  auto published = set();
  write(root_ / "served/plain.gz", "something else");
  auto got = fetch(published);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::bad_request);
  EXPECT_THAT(got.error().what, HasSubstr("plain.gz has MD5 "));
  EXPECT_THAT(got.error().what, HasSubstr(", the published one is " + published.files[0].md5));
  EXPECT_EQ(left(), 0);
}

TEST_F(FetchData, SaysThatThereIsNoNetworkAndWhatToDo) {
  auto published = set();
  kill(server_, SIGKILL);
  waitpid(server_, nullptr, 0);
  server_ = -1;
  auto got = fetch(published);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(got.error().what, HasSubstr("cannot fetch " + url_ + "plain.gz"));
  EXPECT_THAT(got.error().hint, HasSubstr(published.files[0].md5));
  auto from_a_folder = fetch(published, "file://" + (root_ / "served").string());
  ASSERT_TRUE(from_a_folder) << from_a_folder.error().what;
  EXPECT_EQ(read_file(to() / "pictures/a.bin"), "picture");
}

TEST_F(FetchData, SaysWhatTheServerSays) {
  auto published = set();
  fs::remove(root_ / "served/plain.gz");
  auto got = fetch(published);
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().what, HasSubstr("plain.gz: "));
  EXPECT_THAT(got.error().what, HasSubstr("404"));
}

TEST_F(FetchData, AdvisesWhatHelps) {
  auto published = set();
  fs::remove(root_ / "served/plain.gz");
  EXPECT_EQ(fetch(published).error().hint, "try another mirror with --from, or try later");
  for (const auto& mirror : {"file://" + (root_ / "served").string(), std::string("x y")}) {
    auto got = fetch(published, mirror);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().kind, ErrorKind::bad_request) << got.error().what;
    EXPECT_THAT(got.error().hint, HasSubstr("--from needs the URL of a folder with plain.gz"));
  }
}

TEST_F(FetchData, WhatIsLongerThanTheFileOfAFolderBeginsAnew) {
  const auto published = set();
  fs::create_directories(to());
  write(to() / ".plain.gz.partial", std::string(200'000, 'x'));
  auto got = fetch(published, "file://" + (root_ / "served").string());
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(read_file(to() / "plain.gz"), std::string(100'000, 'p') + "end");
}

TEST_F(FetchData, BracketsInAUrlAreNoPattern) {
  auto published = set();
  fs::rename(root_ / "served", root_ / "a[1-2]{x,y}");
  auto got = fetch(published, "file://" + (root_ / "a[1-2]{x,y}").string());
  EXPECT_TRUE(got) << got.error().what;
}

TEST_F(FetchData, AFolderThatLacksFilesIsNotWhole) {
  auto published = set();
  published.files[1].members = {"a.bin", "b.bin"};
  write(to() / "pictures/a.bin", "picture");
  auto got = fetch(published);
  ASSERT_FALSE(got);
  EXPECT_THAT(got.error().what, HasSubstr("pictures exists but lacks b.bin"));
  write(to() / "pictures/b.bin", "picture");
  EXPECT_TRUE(fetch(published));
}

TEST_F(FetchData, SaysHowFarItIsUnlessItIsToBeQuiet) {
  auto published = set();
  write(root_ / "served/plain.gz", std::string(4'000'000, 'p'));
  published.files[0].md5 = md5(root_ / "served/plain.gz");
  write(root_ / "served/.slow", "");
  for (const int verbosity : {0, -1}) {
    fs::remove_all(to());
    PosixSystem system{Console{.verbosity = verbosity}};
    testing::internal::CaptureStderr();
    auto got =
        fetch_data(system, published, {.folder = to().string(), .mirror = "", .told_every = 200ms});
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(got);
    if (verbosity < 0) {
      EXPECT_EQ(said, "");
    } else {
      EXPECT_THAT(said, HasSubstr("plain.gz: 2.0 MB, "));
    }
  }
}

TEST(PublishedSets, HaveWholeChecksums) {
  ASSERT_EQ(published_sets().size(), 4u);
  for (const auto& set : published_sets()) {
    EXPECT_FALSE(set.files.empty());
    for (const auto& file : set.files) {
      EXPECT_EQ(file.members.empty(), file.unpacks_to.empty());
      EXPECT_EQ(file.md5.size(), 32u);
      EXPECT_EQ(file.md5.find_first_not_of("0123456789abcdef"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace dllaunch

#include "launcher/os/posix_system.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

class PosixSystemTest : public testing::Test {
 protected:
  Result<CommandOutput> shell(const std::string& script, std::chrono::milliseconds limit = 20s) {
    return system_.run({"sh", "-c", script}, limit);
  }

  PosixSystem system_{Console{}};
};

std::vector<int> descriptors() {
  std::vector<int> open;
  for (int fd = 0; fd < 1024; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) open.push_back(fd);
  }
  return open;
}

TEST_F(PosixSystemTest, GivesBackBothStreamsAndTheExitCode) {
  const auto output = shell("echo out; echo err >&2; exit 7");
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, "out\n");
  EXPECT_EQ(output->err, "err\n");
  EXPECT_EQ(output->exit_code, 7);
}

TEST_F(PosixSystemTest, AddsTheSignalTo128) {
  EXPECT_EQ(shell("kill -TERM $$")->exit_code, 143);
}

/// As in a process that ignores SIGCHLD: the exit status is lost.
TEST_F(PosixSystemTest, ALostExitCodeIsNoSuccess) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  const auto output = shell("echo out");
  std::signal(SIGCHLD, before);
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, "out\n");
  EXPECT_EQ(output->exit_code, 1);
}

TEST_F(PosixSystemTest, ReadsMoreThanAPipeHolds) {
  const auto output = shell("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2");
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out.size(), 3'000'000u);
  EXPECT_EQ(output->err.size(), 3'000'000u);
}

TEST_F(PosixSystemTest, RefusesEndlessOutput) {
  const auto output = shell("exec cat /dev/zero");
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().what, "sh wrote more than 64 MiB");
}

TEST_F(PosixSystemTest, KillsTheWholeGroupWhenTimeIsUp) {
  const auto note = testing::TempDir() + "posix_world_" + std::to_string(getpid());
  int grandchild = 0;
  // Until the time was enough for the shell to come to its wait.
  for (const auto& [limit, text] : {std::pair(200ms, "0.2"), {3000ms, "3"}, {30'000ms, "30"}}) {
    const auto begin = std::chrono::steady_clock::now();
    const auto output = shell("sleep 300 & echo $! > " + note + "; wait", limit);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, limit + 60s);
    ASSERT_FALSE(output);
    EXPECT_EQ(output.error().kind, ErrorKind::timeout);
    EXPECT_EQ(output.error().what, "sh did not end within " + std::string(text) + " s");
    std::ifstream(note) >> grandchild;
    if (grandchild > 1) break;
  }
  std::filesystem::remove(note);
  ASSERT_GT(grandchild, 1);
  // Its new parent reaps it in its own time.
  const auto gone = [grandchild] {
    std::string state;
    std::ifstream stat("/proc/" + std::to_string(grandchild) + "/stat");
    stat >> state >> state >> state;
    return !stat || state == "Z";
  };
  for (int i = 0; i < 1000 && !gone(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(gone());
}

TEST_F(PosixSystemTest, DoesNotWaitForWhatStaysInTheBackground) {
  const auto begin = std::chrono::steady_clock::now();
  const auto output = shell("sleep 60 & echo done");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 45s);
  ASSERT_TRUE(output);
  EXPECT_EQ(output->out, "done\n");
}

TEST_F(PosixSystemTest, WaitsForAProgramThatClosedItsOutput) {
  const auto output = shell("exec >&- 2>&-; sleep 0.2; exit 4");
  ASSERT_TRUE(output);
  EXPECT_EQ(output->exit_code, 4);
}

TEST_F(PosixSystemTest, StartsProgramsWithEmptyInputAndNoDescriptorOfOurs) {
  EXPECT_EQ(shell("cat; echo end")->out, "end\n");
  // Those that this test inherited from its caller it passes on; ls itself opens the folder.
  const auto inherited = descriptors().size();
  const auto listed = system_.run({"ls", "/proc/self/fd"}, 20s)->out;
  EXPECT_EQ(static_cast<std::size_t>(std::count(listed.begin(), listed.end(), '\n')),
            inherited + 1);
}

TEST_F(PosixSystemTest, LeavesNothingOpen) {
  const auto before = descriptors();
  for (int i = 0; i < 20; ++i) (void)shell("true");
  (void)shell("sleep 60", 10ms);
  EXPECT_EQ(descriptors(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // no zombie either
}

TEST_F(PosixSystemTest, UndoesBlockedSignals) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  EXPECT_EQ(shell("kill -TERM $$; sleep 10")->exit_code, 143);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(PosixSystemTest, SaysThatAProgramIsMissing) {
  const auto output = system_.run({"no-such-program", "-x"}, 1s);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(output.error().what, "no-such-program is not installed");
  EXPECT_EQ(system_.find_program("no-such-program"), std::nullopt);
  EXPECT_EQ(system_.find_program("/bin"), std::nullopt);
  EXPECT_TRUE(system_.find_program("sh")->starts_with('/'));
  EXPECT_EQ(system_.find_program("/bin/sh"), "/bin/sh");
}

TEST_F(PosixSystemTest, ReadsFilesOrNamesTheReason) {
  EXPECT_EQ(system_.read_file("/dev/null").operator*(), "");
  EXPECT_EQ(system_.read_file("/no/such").error().what,
            "cannot read /no/such: No such file or directory");
  EXPECT_EQ(system_.read_file("/tmp").error().what, "cannot read /tmp: Is a directory");
  EXPECT_EQ(system_.read_file("/dev/zero").error().what, "/dev/zero is larger than 64 MiB");
}

TEST_F(PosixSystemTest, APipeInAFilesPlaceIsNotWaitedFor) {
  const TemporaryFolder folder;
  const auto pipe = folder.path() + "/plan.json";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(system_.read_file(pipe).error().what,
            "cannot read " + pipe + ": it is a pipe or a device, not a file");
  std::filesystem::create_symlink("/dev/zero", folder.path() + "/zero");
  EXPECT_EQ(system_.read_file(folder.path() + "/zero").error().kind, ErrorKind::unavailable);
}

TEST_F(PosixSystemTest, APipeThatAShellHandsOverIsReadToItsEnd) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  std::thread writer([&] {
    std::this_thread::sleep_for(50ms);
    EXPECT_EQ(write(ends[1], "name: x\n", 8), 8);
    close(ends[1]);
  });
  EXPECT_EQ(*system_.read_file("/dev/fd/" + std::to_string(ends[0])), "name: x\n");
  writer.join();
  close(ends[0]);
}

TEST_F(PosixSystemTest, AFilesSizeIsJudgedBeforeItIsRead) {
  const TemporaryFolder folder;
  const auto path = folder.path() + "/summary.json";
  std::ofstream(path) << "{}";
  std::filesystem::resize_file(path, std::uintmax_t{200} << 30);
  EXPECT_EQ(system_.read_file(path).error().what, path + " is larger than 64 MiB");
}

}  // namespace
}  // namespace dllaunch

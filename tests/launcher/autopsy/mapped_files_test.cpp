// Stacks of processes in a container, made as Apptainer, Enroot and runc make theirs: namespaces of
// their own for mounts and process ids, and another root.
#include "launcher/autopsy/mapped_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "launcher/autopsy/observe_stacks.hpp"
#include "launcher/autopsy/python_stacks.hpp"
#include "launcher/os/posix_system.hpp"
#include "tests/launcher/autopsy/child_program.hpp"
#include "tests/support/emulator.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

/// $1 becomes the root: all of this machine, and in /mnt a `sleep` with a C library that exist
/// nowhere else.
constexpr const char* enter = R"sh(mount --rbind / "$1" && mount -t tmpfs none "$1/mnt" &&
cp -L "$(command -v sleep)" "$1/mnt/sleeper" &&
cp -L "$(ldd "$(command -v sleep)" | sed -n 's/.*libc.so.6 => \([^ ]*\).*/\1/p')" "$1/mnt" &&
cd "$1" && pivot_root . . && umount -l . && cd / && )sh";

class InAContainer : public testing::Test {
 protected:
  void SetUp() override {
    if (under_an_emulator()) GTEST_SKIP() << "qemu-user has no ptrace";
    if (std::system("unshare --mount true 2>/dev/null") != 0)
      GTEST_SKIP() << "no container can be made here: that needs root";
    ASSERT_TRUE(ready("true"));
  }
  std::vector<std::string> contained(const std::string& body) const {
    return {"unshare",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "bash",
            "-c",
            "exec 2>/dev/null; " + (enter + body),
            "-",
            root_.path()};
  }
  bool ready(const std::string& body) {
    return ChildProgram(program(contained(body + " && echo ready"))).ready();
  }
  /// The innermost process of the child.
  ProcessStacks observe(const ChildProgram& child) {
    auto node = observe_stacks(system_, {{.rank = 0, .pid = child.pid()}}, 20s);
    return node.processes.empty() ? ProcessStacks() : node.processes.back();
  }

  PosixSystem system_{Console{}};
  const TemporaryFolder root_;
};

TEST_F(InAContainer, NativeStacksAreOfItsOwnFiles) {
  const ChildProgram child(
      program(contained("echo ready && LD_LIBRARY_PATH=/mnt exec /mnt/sleeper 1000")));
  ASSERT_TRUE(child.ready());
  const ProcessStacks process = observe(child);
  ASSERT_EQ(process.command, "sleeper");
  const MappedFiles files(process.pid);
  EXPECT_TRUE(files.elsewhere());
  const int file = files.open("/mnt/sleeper");
  EXPECT_GE(file, 0);
  close(file);
  EXPECT_EQ(files.open("/mnt/missing"), -1);
  EXPECT_EQ(files.open("/dev/null"), -1);
  const Stack& frames = process.threads.front().frames;
  const auto sleeps = std::ranges::find(frames, "clock_nanosleep", &StackFrame::function);
  ASSERT_NE(sleeps, frames.end()) << process.threads.front().why_not;
  EXPECT_TRUE(sleeps->file.starts_with("libc.so.6")) << sleeps->file;
}

TEST_F(InAContainer, PythonAnswers) {
  if (std::system("python3 -c 'import os; os.memfd_create' 2>/dev/null") != 0)
    GTEST_SKIP() << "no python3";
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/sitecustomize.py") << python_start_file();
  const ChildProgram child(
      program(contained("exec python3 -uc 'import time\ndef holds():\n  print(\"ready\")\n"
                        "  time.sleep(1000)\nholds()'"),
              {{"PYTHONPATH", folder.path()}}));
  ASSERT_TRUE(child.ready());
  const ProcessStacks process = observe(child);
  ASSERT_FALSE(process.python.empty()) << process.why_not;
  EXPECT_EQ(process.main_stack().back().function, "holds");
}

/// The path is then as seen from here.
TEST_F(InAContainer, OfAnotherRootInTheSameNamespaceToo) {
  const ChildProgram child(program({"bash", "-c", R"sh(sleep=$(command -v sleep)
for file in "$sleep" $(ldd "$sleep" | grep -o '/[^ ]*'); do
  mkdir -p "$1${file%/*}" && cp -L "$file" "$1$file"
done
echo ready
exec chroot "$1" "$sleep" 1000)sh",
                                    "-", root_.path()}));
  ASSERT_TRUE(child.ready());
  const ProcessStacks process = observe(child);
  const Stack& frames = process.threads.front().frames;
  EXPECT_NE(std::ranges::find(frames, "clock_nanosleep", &StackFrame::function), frames.end())
      << process.threads.front().why_not;
}

TEST(MappedFiles, OfThisProcessAreHere) {
  EXPECT_FALSE(MappedFiles(getpid()).elsewhere());
}

}  // namespace
}  // namespace dllaunch

#include "launcher/autopsy/thread_snapshot.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "tests/launcher/autopsy/child_program.hpp"
#include "tests/support/emulator.hpp"

namespace dllaunch {
namespace {

TEST(ThreadSnapshot, IsOfRegistersAndStack) {
  if (under_an_emulator()) GTEST_SKIP() << "qemu-user has no ptrace";
  const ChildProgram child([](int ready) {
    volatile std::uint64_t mark = 0x5eed'0f57'ac45'0000;
    mark = mark + 0x1234;  // the test holds the number only as a sum
    if (write(ready, "r", 1) != 1) _exit(1);
    while (mark != 0) pause();
  });
  ASSERT_TRUE(child.ready());
  const auto taken = take_snapshot(child.pid(), child.pid());
  EXPECT_EQ(taken.why_not, "");
  const std::uint64_t mark = 0x5eed'0f57'ac45'1234;
  EXPECT_NE(memmem(taken.stack.data(), taken.stack.size(), &mark, sizeof mark), nullptr);
}

TEST(ThreadSnapshot, OfNothingSaysSo) {
  ChildProgram child([](int) {});
  const int pid = child.pid();
  child.end();
  const auto taken = take_snapshot(pid, pid);
  EXPECT_TRUE(taken.stack.empty());
  EXPECT_NE(taken.why_not, "");
}

TEST(ThreadSnapshot, MemoryIsReadUpToAHole) {
  if (under_an_emulator()) GTEST_SKIP() << "qemu-user has no process_vm_readv of its guest";
  constexpr std::size_t page = 4096;
  auto* const pages = static_cast<std::byte*>(
      mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  std::memset(pages, 7, 3 * page);
  munmap(pages + 2 * page, page);
  std::vector<std::byte> copy(3 * page);
  const auto from = reinterpret_cast<std::uint64_t>(pages) + 100;
  EXPECT_EQ(read_memory(getpid(), from, copy.data(), copy.size()), 2 * page - 100);
  EXPECT_EQ(copy[2 * page - 101], std::byte{7});
  EXPECT_EQ(read_memory(getpid(), from + 2 * page, copy.data(), 8), 0u);
  munmap(pages, 2 * page);
}

TEST(ThreadSnapshot, RefusalsNameTheSetting) {
  EXPECT_EQ(tracing_refusal(ESRCH, "1"), "it has ended");
  for (const std::string scope : {"1", "2", "3"}) {
    const auto why = tracing_refusal(EPERM, scope);
    EXPECT_NE(why.find("kernel.yama.ptrace_scope is " + scope), std::string::npos) << why;
  }
  EXPECT_NE(tracing_refusal(EPERM, "1").find("dllaunch exec"), std::string::npos);
  EXPECT_EQ(tracing_refusal(EPERM, "").find("yama"), std::string::npos);
  EXPECT_EQ(tracing_refusal(EPERM, "0"), tracing_refusal(EPERM, ""));
  EXPECT_EQ(tracing_refusal(EIO, "1"), std::strerror(EIO));
}

}  // namespace
}  // namespace dllaunch

#include "runtime/rank/binding.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>
#include <thread>

namespace dllaunch {
namespace {

/// Runs `body` in a thread: binding is per thread, so the caller's stays.
template <typename Body>
void in_a_thread(Body body) {
  std::thread(body).join();
}

TEST(Binding, MatchesTheKernel) {
  const auto mine = current_binding();
  ASSERT_TRUE(mine) << mine.error().what;
  EXPECT_FALSE(mine->empty());
  const auto from_status = binding_of(::getpid());
  ASSERT_TRUE(from_status) << from_status.error().what;
  EXPECT_EQ(to_list(*mine), to_list(*from_status));

  cpu_set_t set;
  ASSERT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  EXPECT_EQ(mine->size(), CPU_COUNT(&set));
}

TEST(Binding, AppliesToThisThreadAndWhatItStarts) {
  in_a_thread([] {
    const auto before = current_binding();
    const IdSet one = {before->last()};
    const auto applied = apply_binding(one);
    ASSERT_TRUE(applied) << applied.error().what;
    EXPECT_EQ(to_list(*current_binding()), to_list(one));

    FILE* child = ::popen("grep Cpus_allowed_list /proc/self/status", "r");
    ASSERT_NE(child, nullptr);
    std::array<char, 200> line = {};
    EXPECT_NE(std::fgets(line.data(), line.size(), child), nullptr);
    EXPECT_EQ(::pclose(child), 0);
    EXPECT_EQ(std::string(line.data()), "Cpus_allowed_list:\t" + to_list(one) + "\n");

    EXPECT_TRUE(apply_binding(*before));
    EXPECT_EQ(to_list(*current_binding()), to_list(*before));
  });
}

TEST(Binding, RefusesNothing) {
  const auto applied = apply_binding({});
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().kind, ErrorKind::bad_request);
}

TEST(Binding, IsAllOrNothing) {
  in_a_thread([] {
    const auto before = current_binding();
    const int first = before->first();
    // The kernel alone would take the first CPU and silently drop the other.
    for (const IdSet& wanted : {IdSet{first, 60000}, IdSet{60000}, IdSet{IdSet::max_id}}) {
      const auto applied = apply_binding(wanted);
      ASSERT_FALSE(applied);
      EXPECT_EQ(applied.error().kind, ErrorKind::unsatisfiable);
      EXPECT_NE(applied.error().what.find(to_list(wanted)), std::string::npos)
          << applied.error().what;
      EXPECT_EQ(to_list(*current_binding()), to_list(*before));
    }
  });
}

TEST(Binding, NamesBothSetsWhenRefused) {
  in_a_thread([] {
    const int first = current_binding()->first();
    const auto applied = apply_binding({first, 60000});
    ASSERT_FALSE(applied);
    EXPECT_EQ(applied.error().what, "cannot bind to CPUs " + std::to_string(first) +
                                        ",60000: the kernel allows only CPUs " +
                                        std::to_string(first));
  });
}

TEST(Binding, OfAnotherProcess) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const auto binding = binding_of(child);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_TRUE(binding) << binding.error().what;
  EXPECT_EQ(to_list(*binding), to_list(*current_binding()));
}

TEST(Binding, OfAMissingProcess) {
  for (const int pid : {0, -1, 1 << 30}) {
    const auto binding = binding_of(pid);
    ASSERT_FALSE(binding);
    EXPECT_EQ(binding.error().kind, ErrorKind::unavailable);
  }
}

}  // namespace
}  // namespace dllaunch

#include "support/isolated_call.hpp"

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/emulator.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;

TEST(IsolatedCall, ReturnsTheTextWhole) {
  EXPECT_EQ(*isolated_call([] { return Result<std::string>("hello"); }, 10s), "hello");
  EXPECT_EQ(*isolated_call([] { return Result<std::string>(""); }, 10s), "");
  const std::string large(5'000'000, 'x');
  EXPECT_EQ(*isolated_call([&] { return Result<std::string>(large); }, 10s), large);
}

TEST(IsolatedCall, ReturnsTheErrorWhole) {
  const auto answer = isolated_call(
      []() -> Result<std::string> {
        return Error{ErrorKind::unsatisfiable, "too much", "less"};
      },
      10s);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::unsatisfiable);
  EXPECT_EQ(answer.error().what, "too much");
  EXPECT_EQ(answer.error().hint, "less");
}

TEST(IsolatedCall, SurvivesACrash) {
  const auto answer = isolated_call(
      []() -> Result<std::string> {
        std::raise(SIGSEGV);
        return std::string("never");
      },
      10s);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::unavailable);
}

TEST(IsolatedCall, SurvivesAnExit) {
  const auto answer = isolated_call([]() -> Result<std::string> { _exit(0); }, 10s);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().what, "died without an answer");
}

TEST(IsolatedCall, TurnsAnExceptionIntoAnError) {
  const auto answer =
      isolated_call([]() -> Result<std::string> { throw std::runtime_error("what now"); }, 10s);
  EXPECT_EQ(answer.error().what, "what now");
}

TEST(IsolatedCall, StopsWaiting) {
  const auto start = std::chrono::steady_clock::now();
  const auto answer = isolated_call(
      []() -> Result<std::string> {
        for (;;) pause();
      },
      100ms);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::timeout);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST(IsolatedCall, NeedsNoExitStatus) {
  // With SIGCHLD ignored the kernel reaps children, and their status is lost.
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  const auto answer = isolated_call([] { return Result<std::string>("still here"); }, 10s);
  std::signal(SIGCHLD, before);
  EXPECT_EQ(*answer, "still here");
}

TEST(IsolatedCall, BoundsTheMemoryOfTheChild) {
  if (under_an_emulator()) GTEST_SKIP() << "an emulator bounds no memory";
  const auto limit = *isolated_call(
      [] {
        rlimit now{};
        getrlimit(RLIMIT_AS, &now);
        return Result<std::string>(now.rlim_cur == RLIM_INFINITY ? "none" : "some");
      },
      10s);
  EXPECT_EQ(limit, "some");
  rlimit own{};
  getrlimit(RLIMIT_AS, &own);
  EXPECT_EQ(own.rlim_cur, RLIM_INFINITY);
}

TEST(IsolatedCall, CanLeaveMemoryUnbounded) {
  const auto limits = isolated_calls({{.work =
                                           [] {
                                             rlimit now{};
                                             getrlimit(RLIMIT_AS, &now);
                                             return Result<std::string>(
                                                 now.rlim_cur == RLIM_INFINITY ? "none" : "some");
                                           },
                                       .deadline = 10s,
                                       .bounded_memory = false}});
  EXPECT_EQ(*limits[0], "none");
}

/// Each has its own deadline. Those that hang together cost only the longest.
TEST(IsolatedCall, SeveralRunInParallel) {
  const auto hang = []() -> Result<std::string> {
    for (;;) pause();
  };
  std::vector<IsolatedCall> calls;
  for (int i = 0; i < 20; ++i) calls.push_back({.work = hang, .deadline = 1100ms});
  calls.push_back({.work = [] { return Result<std::string>("well"); }, .deadline = 20s});
  calls.push_back(
      {.work = [] { return Result<std::string>(std::string(3'000'000, 'x')); }, .deadline = 20s});
  calls.push_back({.work = []() -> Result<std::string> { _exit(3); }, .deadline = 20s});
  const auto start = std::chrono::steady_clock::now();
  const auto answers = isolated_calls(calls);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
  ASSERT_EQ(answers.size(), 23u);
  for (std::size_t i = 0; i < 20; ++i) {
    ASSERT_FALSE(answers[i]);
    EXPECT_EQ(answers[i].error().kind, ErrorKind::timeout);
    EXPECT_EQ(answers[i].error().what, "no answer after 1100 ms");
  }
  EXPECT_EQ(*answers[20], "well");
  EXPECT_EQ(answers[21]->size(), 3'000'000u);
  EXPECT_EQ(answers[22].error().what, "died without an answer");
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  EXPECT_TRUE(isolated_calls({}).empty());
}

TEST(IsolatedCall, WorksFromManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([t] {
      const auto text = std::to_string(t);
      EXPECT_EQ(*isolated_call([&] { return Result<std::string>(text); }, 10s), text);
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace dllaunch

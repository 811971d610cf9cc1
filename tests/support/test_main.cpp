// main() of the test programs. When scripts/test runs a whole program as one CTest test, CTest can
// neither stop a single test case nor count skipped ones. Two variables make the program do both:
//   DLLAUNCH_TEST_LIMIT=SECONDS  ends the program, naming the test case, when one takes longer
//   DLLAUNCH_TEST_REPORT=FILE    appends a line per test case: result, name, milliseconds, reason
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

/// Name of the running test case, for the signal handler.
char running[256];

void on_time_limit(int) {
  const auto say = [](const char* text) {
    [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::strlen(text));
  };
  say("\n[  FAILED  ] ");
  say(running);
  say(" ran longer than its time limit\n");
  _exit(1);
}

/// Uses a timer, which children do not inherit, and a signal that no test uses.
class TimeLimit : public testing::EmptyTestEventListener {
 public:
  explicit TimeLimit(long seconds) : seconds_(seconds) {
    signal(number(), on_time_limit);
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = number();
    set_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
  }
  void OnTestStart(const testing::TestInfo& test) override {
    std::snprintf(running, sizeof running, "%s.%s", test.test_suite_name(), test.name());
    arm(seconds_);
  }
  void OnTestEnd(const testing::TestInfo&) override { arm(0); }

 private:
  static int number() { return SIGRTMIN + 7; }
  void arm(long seconds) {
    itimerspec when{};
    when.it_value.tv_sec = seconds;
    if (set_) timer_settime(timer_, 0, &when, nullptr);
  }

  long seconds_;
  timer_t timer_{};
  bool set_ = false;
};

class Report : public testing::EmptyTestEventListener {
 public:
  explicit Report(std::string path) : path_(std::move(path)) {}
  void OnTestStart(const testing::TestInfo&) override { why_.clear(); }
  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (part.skipped()) why_ = part.message();
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    const auto& result = *test.result();
    // Opened and closed per line: several programs append at once.
    std::FILE* file = std::fopen(path_.c_str(), "a");
    if (file == nullptr) return;
    std::fprintf(file, "%s\t%s.%s\t%lld\t%s\n",
                 result.Skipped()  ? "skipped"
                 : result.Passed() ? "passed"
                                   : "failed",
                 test.test_suite_name(), test.name(), static_cast<long long>(result.elapsed_time()),
                 why_.substr(0, why_.find('\n')).c_str());
    std::fclose(file);
  }

 private:
  std::string path_;
  std::string why_;
};

/// Removes the variable, so that child processes do not inherit it.
std::string take_variable(const char* name) {
  const char* value = std::getenv(name);
  std::string text = value == nullptr ? "" : value;
  unsetenv(name);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (const auto limit = take_variable("DLLAUNCH_TEST_LIMIT"); !limit.empty())
    listeners.Append(new TimeLimit(std::atol(limit.c_str())));
  if (auto report = take_variable("DLLAUNCH_TEST_REPORT"); !report.empty())
    listeners.Append(new Report(std::move(report)));
  return RUN_ALL_TESTS();
}

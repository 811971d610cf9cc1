#include "runtime/gpu/sensors/gpu_sampler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <thread>

#include <unistd.h>

#include "tests/runtime/gpu/sensors/fake_sensors.hpp"

namespace dllaunch {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using testing::ElementsAre;
using testing::HasSubstr;

/// Filled by the sampler's thread, which may outlive the test.
struct Heard {
  std::mutex mutex;
  std::vector<std::string> lines;
};

GpuSamplerOptions reading(const std::string& pci, const std::shared_ptr<Heard>& heard) {
  return {
      .pci = pci, .libraries = fake_libraries(), .period = 5ms, .alarm = [heard](const auto& line) {
        const std::lock_guard<std::mutex> lock(heard->mutex);
        heard->lines.push_back(line);
      }};
}

/// Reads until there are `readings`, for at most a minute.
GpuUse wait_for(GpuSampler& sampler, double readings) {
  const auto give_up = Clock::now() + 60s;
  GpuUse use;
  while (use.readings + use.failed < readings && Clock::now() < give_up) {
    std::this_thread::sleep_for(5ms);
    const GpuUse more = sampler.take();
    use.readings += more.readings;
    use.failed += more.failed;
    use.xids += more.xids;
    use.ecc_errors += more.ecc_errors;
  }
  return use;
}

TEST(GpuSampler, ReadsWhileOthersWork) {
  const auto heard = std::make_shared<Heard>();
  GpuSampler sampler(reading("0000:07:00.0", heard));
  EXPECT_GE(wait_for(sampler, 3).readings, 3);
  EXPECT_EQ(sampler.trouble(), "");
  const std::lock_guard<std::mutex> lock(heard->mutex);
  EXPECT_TRUE(heard->lines.empty());
}

TEST(GpuSampler, ReportsErrorsOnceAndAtOnce) {
  const FakeSensors fault("xid");
  const auto heard = std::make_shared<Heard>();
  {
    GpuSampler sampler(reading("0000:0f:00.0", heard));
    EXPECT_EQ(wait_for(sampler, 4).xids, 3);
  }
  const std::lock_guard<std::mutex> lock(heard->mutex);
  ASSERT_EQ(heard->lines.size(), 2u);
  EXPECT_THAT(heard->lines[0], HasSubstr("GPU 0000:0f:00.0: XID 31, a kernel accessed memory"));
  EXPECT_THAT(heard->lines[1], HasSubstr("XID 79, it has fallen off the bus; leave the node out"));
}

TEST(GpuSampler, ReportsNewMemoryErrors) {
  const FakeSensors fault("ecc-grows");
  const auto heard = std::make_shared<Heard>();
  {
    GpuSampler sampler(reading("0000:0f:00.0", heard));
    EXPECT_EQ(wait_for(sampler, 4).ecc_errors, 2);
  }
  const std::lock_guard<std::mutex> lock(heard->mutex);
  EXPECT_THAT(heard->lines, ElementsAre(HasSubstr("2 memory errors that could not be corrected")));
}

TEST(GpuSampler, ReportsWhyNothingIsRead) {
  const auto heard = std::make_shared<Heard>();
  GpuSampler sampler(reading("0000:99:00.0", heard));
  EXPECT_EQ(wait_for(sampler, 1).failed, 1);
  EXPECT_THAT(sampler.trouble(), HasSubstr("no sensors for GPU 0000:99:00.0"));
}

TEST(GpuAlarms, AreBounded) {
  GpuAlarms alarms("0000:07:00.0");
  std::size_t lines = 0;
  for (unsigned i = 1; i < 1000; ++i) {
    lines += alarms.of({.ecc_errors = i, .xids = std::vector{i}, .trouble = "GPU is lost"}).size();
  }
  EXPECT_EQ(lines, 18u) << "16 kinds of errors, memory errors, and that it is lost";
}

/// In child processes, since threads that hang remain. None may delay training or its end.
void expect_nobody_waits(const char* behaviour) {
  setenv("DLLAUNCH_FAKE_GPUS", behaviour, 1);
  const auto began = Clock::now();
  {
    GpuSampler sampler(reading("0000:07:00.0", std::make_shared<Heard>()));
    std::this_thread::sleep_for(100ms);
    sampler.restart();
    sampler.take();
    sampler.trouble();
  }
  std::exit(Clock::now() - began < 10s ? 0 : 1);
}

TEST(GpuSampler, AHangingLibraryBlocksNothing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(expect_nobody_waits("hang"), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(expect_nobody_waits("hang-later"), testing::ExitedWithCode(0), "");
}

/// Signals are for the training thread.
TEST(GpuSampler, TakesNoSignals) {
  static std::atomic<std::thread::id> handled_by;
  std::signal(SIGUSR1, [](int) { handled_by = std::this_thread::get_id(); });
  {
    GpuSampler sampler(reading("0000:07:00.0", std::make_shared<Heard>()));
    wait_for(sampler, 1);
    for (int i = 0; i < 20; ++i) {
      handled_by = std::thread::id();
      ::kill(::getpid(), SIGUSR1);
      while (handled_by.load() == std::thread::id()) std::this_thread::yield();
      ASSERT_EQ(handled_by.load(), std::this_thread::get_id());
    }
  }
  std::signal(SIGUSR1, SIG_DFL);
}

}  // namespace
}  // namespace dllaunch

// A run directory that is away when the supervisor wants to start the ranks again.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <thread>
#include <utility>

#include "launcher/base/exit_code.hpp"
#include "launcher/supervise/supervisor.hpp"
#include "tests/launcher/supervise/supervised.hpp"

namespace dllaunch {
namespace {

const char* const killed_by_srun = "echo 'srun: error: n2: task 1: Killed' >&2; exit 137; ";

/// The directory goes away between two starts of the ranks, until restore(). Before the second,
/// Slurm is asked, and the end of that query is a signal too.
class AwayBetweenStarts : public PosixSystem {
 public:
  explicit AwayBetweenStarts(const Supervised& place)
      : PosixSystem(Console{}), here_(place.dir().path) {}
  Result<CommandOutput> run(const std::vector<std::string>& argv,
                            std::chrono::milliseconds limit) override {
    if (argv[0] != "scontrol") return PosixSystem::run(argv, limit);
    (void)PosixSystem::run({"true"}, limit);
    requeued = requeued || argv[1] == "requeue";
    if (away && warns && !std::exchange(warned_, true)) kill(getpid(), SIGUSR2);
    return CommandOutput{0, "JobId=17 JobName=a\n   JobState=RUNNING\n   Restarts=0\n", ""};
  }
  void log(std::string_view text) override {
    if (!text.starts_with("dllaunch: restart: ")) return;
    away = true;
    std::filesystem::rename(here_, here_ + ".away");
  }
  void restore() const { std::filesystem::rename(here_ + ".away", here_); }

  std::atomic<bool> away = false;
  bool warns = false;
  bool requeued = false;

 private:
  std::string here_;
  bool warned_ = false;
};

TEST(SupervisorWaits, WaitsForTheRunDirectoryBetweenTwoStarts) {
  const Supervised place;
  AwayBetweenStarts system(place);
  std::thread remount([&] {
    while (!system.away) usleep(10'000);
    usleep(2'500'000);
    system.restore();
  });
  auto run = place.run(std::string("if [ $n = 1 ]; then ") + killed_by_srun + "fi; exit 0",
                       command_recovery(3));
  run.allocation.job = "17";
  EXPECT_EQ(supervise(system, run), 0);
  remount.join();
  EXPECT_EQ(place.starts(), 2);
}

TEST(SupervisorWaits, AWarningDuringThatWaitRequeuesTheJob) {
  const Supervised place;
  AwayBetweenStarts system(place);
  system.warns = true;
  auto run = place.run(killed_by_srun, command_recovery(3));
  run.allocation.job = "17";
  EXPECT_EQ(supervise(system, run), exit_code::job_failed);
  EXPECT_TRUE(system.requeued);
  system.restore();
}

}  // namespace
}  // namespace dllaunch

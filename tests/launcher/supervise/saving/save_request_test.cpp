#include "launcher/supervise/saving/save_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/supervise/supervised.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

/// A job of one node whose starter, as srun, would end with the signal.
class Asking : public testing::Test {
 protected:
  Asking() : run_(place_.run("", command_recovery(0))) {
    run_.allocation = {.job = "17", .nodes = "n1", .host = "n1"};
  }

  /// The exit code of a starter whose rank runs `script`, asked to save when it has written
  /// "ready".
  int ask(const std::string& script) {
    auto starter = StarterProcess::start(
        "/bin/bash",
        {"bash", "-c",
         "cd '" + place_.dir().path + "'; DLLAUNCH_RUN_DIR=$PWD RANK=0 bash -c '" + script +
             "'; exit $?"},
        {{"DLLAUNCH_GENERATION", "5"}});
    EXPECT_TRUE(starter);
    while (access((place_.dir().path + "/ready").c_str(), F_OK) != 0) usleep(10'000);
    SaveRequest request(place_.system, run_, 5);
    request.make(Clock::now(), patience_, *starter);
    EXPECT_TRUE(request.made());
    for (auto code = starter->poll();; code = starter->poll()) {
      if (code) return *code;
      request.look(Clock::now(), *starter);
      usleep(10'000);
    }
  }

  Supervised place_;
  SupervisedRun run_;
  std::chrono::seconds patience_{60};
};

TEST_F(Asking, TheRankThatHandlesItIsAskedAndNotItsStarterOrItsHelper) {
  EXPECT_EQ(ask("sleep 300 & h=$!; trap \"kill -0 $h && exit 75; exit 1\" USR2; : > ready; wait"),
            75);
}

TEST_F(Asking, AHandlerThatComesLateIsWaitedFor) {
  EXPECT_EQ(ask(": > ready; sleep 1; trap \"exit 75\" USR2; while :; do sleep 0.05; done"), 75);
}

TEST_F(Asking, WithoutAnyHandlerTheStarterSendsIt) {
  patience_ = std::chrono::seconds(0);
  EXPECT_EQ(ask(": > ready; exec sleep 300"), 128 + SIGUSR2);
}

TEST_F(Asking, AnOrderThatIsNoneIsRefused) {
  for (const char* order : {"", "12", "12:5", "x:5:1", "0:5:1", "12:5:1:2", "99:5:1"})
    EXPECT_FALSE(ask_ranks_here(place_.system, place_.dir().path, order)) << order;
  EXPECT_TRUE(ask_ranks_here(place_.system, place_.dir().path, "12:5:0"));
}

}  // namespace
}  // namespace dllaunch

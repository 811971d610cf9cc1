#include "trainer/tuning/autotune.hpp"

#include <gmock/gmock.h>

#include "runtime/communicators/opening/communicators.hpp"
#include "support/json.hpp"
#include "tests/trainer/training/small_training.hpp"
#include "trainer/training/prepare.hpp"

namespace dllaunch {
namespace {

class Autotune : public testing::Test {
 protected:
  Autotune() {
    options_.config = small_config("auto");
    options_.config.find.batch_size = true;
    options_.config.settings = {{"batch_size", std::string("auto")}};
    options_.run_dir = folder_.path();
    options_.threads = 1;
    options_.say = [&](std::string_view line) { said_.emplace_back(line); };
  }

  Result<Session> prepared() {
    said_.clear();
    return prepare(options_, *communicator_);
  }

  ScratchFolder folder_;
  std::unique_ptr<Communicator> communicator_ = *open_communicator("solo", RankEnv{});
  PrepareOptions options_;
  std::vector<std::string> said_;
};

TEST_F(Autotune, TheBatchSizeIsANumberEverywhere) {
  auto session = prepared();
  ASSERT_TRUE(session) << session.error().what;
  EXPECT_EQ(session->config.batch_size, 64) << "of 100 images";
  EXPECT_EQ(session->shape.batch_size, 64);
  EXPECT_EQ(std::get<double>(session->config.settings[0].value), 64);
  EXPECT_FALSE(said_.empty());
  EXPECT_EQ(read_choices(folder_.path())->batch_size, 64);
}

TEST_F(Autotune, AnEarlierChoiceStandsUnlessTheRunBeginsAnew) {
  ASSERT_TRUE(write_choices(folder_.path(), {.batch_size = 5}));
  auto again = prepared();
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(again->config.batch_size, 5);
  EXPECT_TRUE(said_.empty()) << "nothing was tried";
  options_.config.resume = "none";
  EXPECT_EQ(prepared()->config.batch_size, 64);
  EXPECT_EQ(read_choices(folder_.path())->batch_size, 64);
}

TEST_F(Autotune, GivenValuesAreNotLookedUp) {
  write_text(folder_ / "choices.json", "damaged");
  EXPECT_FALSE(prepared());
  options_.config.find.batch_size = false;
  auto session = prepared();
  ASSERT_TRUE(session) << session.error().what;
  EXPECT_EQ(session->config.batch_size, 16);
}

TEST_F(Autotune, AStopChoosesNothing) {
  options_.stop_requested = [] { return true; };
  auto session = prepared();
  ASSERT_TRUE(session) << session.error().what;
  EXPECT_TRUE(session->stopped);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "choices.json"));
}

TEST_F(Autotune, AChoiceThatCannotBeKeptIsAnError) {
  options_.run_dir = folder_ / "no/such/folder";
  const auto session = prepared();
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().kind, ErrorKind::unavailable);
}

TEST_F(Autotune, AChosenRateIsUsedByOptimiserAndReports) {
  TrainConfig config = options_.config;
  config.settings.push_back({"optimizer.lr", std::string("auto")});
  take_rate(config, 0.25);
  EXPECT_EQ(config.optimizer_options.lr, 0.25);
  EXPECT_EQ(std::get<double>(config.settings[1].value), 0.25);
}

}  // namespace
}  // namespace dllaunch

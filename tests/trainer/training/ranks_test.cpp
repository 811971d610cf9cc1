// Results that must not depend on the number of ranks, on real ranks under mpirun.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "runtime/rank/run_ownership.hpp"
#include "support/json.hpp"
#include "tests/trainer/training/curve.hpp"
#include "tests/trainer/training/run_program.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

const std::string bin = DLLAUNCH_BIN_DIR;

/// 110 images in steps of 24: the last of an epoch has 14, which 4 ranks share unevenly.
Json small_job() {
  return Json::parse(R"({
    "model": "lenet", "backend": "reference", "precision": "fp64", "max_steps": 20, "epochs": 9,
    "dataset": {"kind": "synthetic", "images": 110, "workers": 1}, "validate_every": 5,
    "optimizer": {"lr": 0.02, "momentum": 0.9, "weight_decay": 0.0001},
    "runtime": {"bucket_mb": 0.05}})");
}

Curve losses_of(int ranks, Json job, const std::filesystem::path& run_dir) {
  job["batch_size"] = 24 / ranks;
  return losses_on(ranks, job, run_dir);
}

TEST(Ranks, OneTwoAndFourGiveTheSameLosses) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  const Curve one = losses_of(1, small_job(), folder / "1");
  ASSERT_EQ(one.losses.size(), 20u);
  EXPECT_LT(one.losses.back(), one.losses.front());
  for (const int ranks : {2, 4}) {
    const Curve several = losses_of(ranks, small_job(), folder / std::to_string(ranks));
    ASSERT_EQ(several.losses.size(), 20u);
    for (std::size_t i = 0; i < 20; ++i) {
      EXPECT_NEAR(several.losses[i], one.losses[i], 1e-9 * one.losses[i])
          << ranks << " ranks, step " << i + 1;
    }
    EXPECT_NEAR(several.last_epoch["val_loss"], one.last_epoch["val_loss"], 1e-9);
    EXPECT_EQ(several.last_epoch["val_accuracy"], one.last_epoch["val_accuracy"]);
  }
}

/// The global batch stays the same, and so do the images of each step.
TEST(Ranks, ARunContinuesOnAnotherNumberOfRanks) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  const Curve whole = losses_of(1, small_job(), folder / "whole");
  std::vector<double> losses;
  auto job = small_job();
  // With 5 steps per epoch: within the first, the second and the fourth.
  for (const auto& [ranks, until] : {std::pair(2, 3), {4, 8}, {1, 17}, {3, 20}}) {
    job["max_steps"] = until;
    const Curve part = losses_of(ranks, job, folder / "parts");
    losses.insert(losses.end(), part.losses.begin(), part.losses.end());
  }
  ASSERT_EQ(losses.size(), 20u);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_NEAR(losses[i], whole.losses[i], 1e-9 * whole.losses[i]) << "step " << i + 1;
  }
}

/// One rank writes the reports, with counts over all ranks' images.
TEST(Ranks, ReportsDoNotDependOnTheNumberOfRanks) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  auto job = small_job();
  job["max_steps"] = 10;
  job["dataset"]["images"] = 470;  // 47 for validation
  losses_of(1, job, folder / "1");
  const std::string confusion = read_text(folder / "1" / "confusion.csv");
  EXPECT_THAT(confusion, HasSubstr("class 9"));
  for (const int ranks : {2, 4}) {
    const auto run_dir = folder / std::to_string(ranks);
    losses_of(ranks, job, run_dir);
    EXPECT_EQ(read_text(run_dir / "confusion.csv"), confusion) << ranks << " ranks";
    EXPECT_EQ(read_text(run_dir / "classes.csv"), read_text(folder / "1" / "classes.csv"));
    const std::string rows = read_text(run_dir / "metrics.csv");
    EXPECT_EQ(std::ranges::count(rows, '\n'), 2) << rows;
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(run_dir / "tensorboard"), {}), 1);
  }
}

TEST(Ranks, AccumulatingOnTwoEqualsFour) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  auto job = small_job();
  const Curve one = losses_of(1, job, folder / "1");
  job["accumulate"] = 2;
  job["batch_size"] = 6;
  write_text(folder / "train.json", job.dump());
  const auto ended = run_program(on_ranks(
      2, {bin + "/every_loss", (folder / "train.json").string(), (folder / "losses").string()}));
  ASSERT_EQ(ended.exit_code, 0) << ended.output;
  std::ifstream in(folder / "losses");
  for (const double expected : one.losses) {
    double loss = 0;
    in >> loss;
    EXPECT_NEAR(loss, expected, 1e-9 * expected);
  }
}

TEST(Ranks, BadDataEndsAllWithOneMessageAndNoCheckpoint) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  auto job = small_job();
  job["dataset"] = {{"kind", "mnist"}, {"path", (folder / "absent").string()}};
  write_text(folder / "run" / "train.json", job.dump());
  const auto ended = run_program(
      on_ranks(2, {bin + "/dltrain", "--config", (folder / "run" / "train.json").string()}));
  EXPECT_EQ(ended.exit_code, 2) << ended.output;
  const auto first = ended.output.find("dltrain: error: ");
  ASSERT_NE(first, std::string::npos) << ended.output;
  EXPECT_EQ(ended.output.find("dltrain: error: ", first + 1), std::string::npos) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("absent: no such folder"));
  EXPECT_FALSE(std::filesystem::exists(folder / "run" / "checkpoints"));
  EXPECT_FALSE(std::filesystem::exists(folder / "run" / "events.jsonl"));
}

TEST(Ranks, ABadConfigurationIsReportedOnce) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  write_text(folder / "train.json", R"({"model": "lenet", "epocs": 1})");
  const auto ended =
      run_program(on_ranks(2, {bin + "/dltrain", "--config", (folder / "train.json").string()}));
  EXPECT_EQ(ended.exit_code, 2) << ended.output;
  const auto first = ended.output.find("dltrain: error: ");
  ASSERT_NE(first, std::string::npos) << ended.output;
  EXPECT_EQ(ended.output.find("dltrain: error: ", first + 1), std::string::npos) << ended.output;
}

template <typename Condition>
void wait_for(Condition condition) {
  for (int i = 0; i < 6000 && !condition(); ++i) usleep(10'000);
}

/// SIGUSR2 reaches every rank through mpirun at different steps; all stop at the same one.
TEST(Ranks, StopOnRequestAndResumeBitForBit) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  auto job = small_job();
  job["batch_size"] = 12;
  job["precision"] = "fp32";
  job["epochs"] = 1'000'000;
  job["max_steps"] = nullptr;
  job["checkpoint"] = {{"every_epochs", nullptr}};
  const auto command = [&](const std::string& run) {
    write_text(folder / run / "train.json", job.dump());
    return on_ranks(2, {bin + "/dltrain", "--config", (folder / run / "train.json").string()});
  };
  RunningProgram parts(command("parts"));
  wait_for([&] { return !events_of(folder / "parts", "step").empty(); });
  kill(parts.pid(), SIGUSR2);
  const auto stopped = parts.wait();
  EXPECT_EQ(stopped.exit_code, 0) << stopped.output;
  ASSERT_EQ(events_of(folder / "parts", "end").at(0)["status"], "cancelled");
  const auto saved = events_of(folder / "parts", "checkpoint");
  ASSERT_EQ(saved.size(), 1u);

  const auto end = saved[0]["step"].get<int>() + 10;
  job["max_steps"] = end;
  for (const char* run : {"parts", "whole"}) {
    const auto ended = run_program(command(run));
    EXPECT_EQ(ended.exit_code, 0) << ended.output;
  }
  EXPECT_EQ(events_of(folder / "parts", "restart").at(0)["from"], saved[0]["path"]);
  const auto last = fmt::format("step-{:08}", end);
  EXPECT_EQ(weights_at(folder / "parts", last), weights_at(folder / "whole", last));
}

/// A job that runs twice at once: the earlier incarnation is still running when the later one
/// starts.
TEST(Ranks, OfTwoIncarnationsTheEarlierStopsAndTheLaterIsBitExact) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  auto job = small_job();
  job["batch_size"] = 12;
  job["precision"] = "fp32";
  job["epochs"] = 1'000'000;
  job["max_steps"] = nullptr;
  job["checkpoint"] = {{"every_epochs", nullptr}, {"every_minutes", 0.003}};
  const auto command = [&](const std::string& name) {
    write_text(folder / name / "train.json", job.dump());
    return on_ranks(2, {bin + "/dltrain", "--config", (folder / name / "train.json").string()});
  };
  const auto run = folder / "twice";
  std::filesystem::create_directories(run);
  const auto incarnation = [&](const RunOwnership& ownership) {
    auto argv = command("twice");
    const std::string fencing_token = std::to_string(ownership.fencing_token());
    argv.insert(argv.begin(), {"env", "DLLAUNCH_GENERATION=" + fencing_token});
    return argv;
  };
  RunningProgram first(incarnation(*RunOwnership::take(run, {.host = "n1", .pid = 1})));
  wait_for([&] { return !events_of(run, "checkpoint").empty(); });
  const auto taken = RunOwnership::take(run, {.host = "n2", .pid = 2, .job = "17"});
  ASSERT_TRUE(taken);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const double taken_s = std::chrono::duration<double>(now).count();
  RunningProgram second(incarnation(*taken));

  const auto stopped = first.wait();
  EXPECT_EQ(stopped.exit_code, 93) << stopped.output;
  const std::string line =
      "dltrain: stopped: run directory was taken over by job 17 on n2 (fencing token 2, ours is "
      "1); nothing more is written\n";
  const auto said = stopped.output.find(line);
  ASSERT_NE(said, std::string::npos) << stopped.output;
  EXPECT_EQ(stopped.output.find("dltrain: ", said + 1), std::string::npos) << stopped.output;
  EXPECT_EQ(stopped.output.find("error:"), std::string::npos) << stopped.output;

  wait_for([&] {
    const auto steps = events_of(run, "step");
    return !steps.empty() && steps.back()["generation"] == 2;
  });
  kill(second.pid(), SIGUSR2);
  const auto finished = second.wait();
  EXPECT_EQ(finished.exit_code, 0) << finished.output;
  const auto end = events_of(run, "checkpoint").back()["step"].get<int>();
  job["max_steps"] = end;
  EXPECT_EQ(run_program(command("whole")).exit_code, 0);
  const auto last = fmt::format("step-{:08}", end);
  EXPECT_EQ(weights_at(run, last), weights_at(folder / "whole", last));
  // The earlier one checks once a second, where it is not kept from it, and writes nothing at its
  // end.
  std::int64_t earlier = 0;
  std::istringstream lines(read_text(run / "events.jsonl"));
  for (std::string text; std::getline(lines, text);) {
    const auto event = Json::parse(text);
    if (event["generation"] == 2) continue;
    ++earlier;
    EXPECT_LT(event["time"], taken_s + 30) << text;
    EXPECT_NE(event["event"], "end");
  }
  EXPECT_GT(earlier, 3);
  EXPECT_EQ(events_of(run, "restart").size(), 1u);
  EXPECT_EQ(events_of(run, "end").at(0)["status"], "cancelled");
  for (const auto& entry : std::filesystem::directory_iterator(run / "checkpoints")) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << entry.path();
  }
}

TEST(Ranks, AnInvalidGenerationIsAnError) {
  const ScratchFolder folder;
  write_text(folder / "train.json", small_job().dump());
  const auto ended = run_program({"env", "DLLAUNCH_GENERATION=0x3", bin + "/dltrain", "--config",
                                  (folder / "train.json").string()});
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.output, HasSubstr("DLLAUNCH_GENERATION is \"0x3\", not a whole number from 1"));
}

TEST(Ranks, ANonFiniteLossNamesItsRank) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  auto job = small_job();
  job["precision"] = "fp32";
  job["optimizer"] = {{"lr", 1e38}};
  write_text(folder / "train.json", job.dump());
  const auto ended =
      run_program(on_ranks(2, {bin + "/dltrain", "--config", (folder / "train.json").string()}));
  EXPECT_EQ(ended.exit_code, 1) << ended.output;
  EXPECT_THAT(ended.output, testing::ContainsRegex("the loss is .* on rank [01] at step [0-9]+"));
  EXPECT_EQ(events_of(folder.path(), "end").at(0)["status"], "failed");
}

/// As on a node that has lost its GPU, where `auto` falls back to the CPU.
TEST(Ranks, WithDifferentBackendsAreReported) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  const auto config_with = [&](const std::string& backend) {
    auto job = small_job();
    job["precision"] = "fp32";
    job["backend"] = backend;
    write_text(folder / backend / "train.json", job.dump());
    return (folder / backend / "train.json").string();
  };
  const auto command =
      on_two_ranks({bin + "/dltrain", "--config"}, config_with("onednn"), config_with("reference"));
  const auto ended = run_program(command);
  EXPECT_EQ(ended.exit_code, 2) << ended.output;
  EXPECT_THAT(ended.output,
              HasSubstr("what computes differs: backend: rank 1 has reference (plain loops), "
                        "rank 0 has onednn ("));
  EXPECT_THAT(ended.output, HasSubstr("with resources.device cpu all compute on CPUs"));
}

TEST(Ranks, AgreeOnWhatAutoFinds) {
  if (!have_mpirun()) GTEST_SKIP() << "no mpirun";
  const ScratchFolder folder;
  auto job = small_job();
  job["backend"] = "auto";
  job["precision"] = "fp32";
  job["batch_size"] = "auto";
  job["optimizer"]["lr"] = "auto";
  job["lr_schedule"] = {{"scaling", "linear"}};
  write_text(folder / "train.json", job.dump());
  const auto ended =
      run_program(on_ranks(2, {bin + "/dltrain", "--config", (folder / "train.json").string()}));
  ASSERT_EQ(ended.exit_code, 0) << ended.output;
  const auto chosen = Json::parse(read_text(folder / "choices.json"));
  EXPECT_EQ(chosen["batch_size"], 32);  // of 55 images per rank
  EXPECT_EQ(events_of(folder.path(), "start").at(0)["global_batch"], 64);
  // The schedule doubles the rate, which is half of the rate found for both.
  const double lr = chosen["optimizer.lr"];
  EXPECT_DOUBLE_EQ(events_of(folder.path(), "step").back()["lr"].get<double>(), 2 * lr);
}

}  // namespace
}  // namespace dllaunch

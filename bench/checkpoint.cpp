// Slowdown of the epoch in which a checkpoint is written in the background.
//
//   bench_checkpoint [MODEL] [IMAGES] [PAIRS] [MB_PER_S]
//
// Trains on synthetic images of 28x28 in batches of 128, with a checkpoint after every second
// epoch. An epoch is timed from the end of its first step to the end of the next epoch's first
// step, so it includes validation, the snapshot and most of the background write. Each epoch with a
// checkpoint is compared with its neighbours, which have none: slow changes of the machine's load
// cancel out. The last line has the medians.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/opening/communicators.hpp"
#include "support/json.hpp"
#include "trainer/training/train.hpp"

namespace {

using namespace dllaunch;

double now_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Moment {
  double wall_s = 0;
  double cpu_s = 0;  // of all threads of the process
};

TrainConfig config_of(const std::string& model, int images, int pairs) {
  TrainConfig config;
  config.model = model;
  config.dataset = "synthetic";
  config.data.images = images;
  config.batch_size = 128;
  config.epochs = 2 * pairs + 3;
  config.validate_every = 0;
  config.optimizer = "sgd";
  config.optimizer_options = {.lr = 0.01, .momentum = 0.9};
  config.checkpoint.every_epochs = 2;
  config.reports = {.csv = false, .tensorboard = false};
  return config;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Returns the seconds that a checkpoint blocked the training, without the last one.
double median_blocked_s(const std::filesystem::path& run_dir) {
  std::vector<double> blocked;
  std::ifstream in(run_dir / "events.jsonl");
  for (std::string line; std::getline(in, line);) {
    const auto event = Json::parse(line);
    if (event["event"] == "checkpoint") blocked.push_back(event["seconds_blocked"]);
  }
  blocked.pop_back();
  return median(blocked);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string model = argc > 1 ? argv[1] : "cnn";
  const int images = argc > 2 ? std::atoi(argv[2]) : 60000;
  const int pairs = argc > 3 ? std::atoi(argv[3]) : 10;
  if (pairs < 1 || images < 1) return 2;
  auto communicator = *open_communicator("solo", RankEnv{});
  const auto run_dir = std::filesystem::temp_directory_path() / "bench-checkpoint";
  std::filesystem::remove_all(run_dir);
  std::filesystem::create_directories(run_dir);
  TrainOptions options;
  options.prepare.config = config_of(model, images, pairs);
  if (argc > 4) options.prepare.config.checkpoint.mb_per_s = std::atof(argv[4]);
  options.prepare.run_dir = run_dir;
  std::vector<Moment> begins;
  options.on_step = [&](const StepReport& step) {
    if (step.epoch <= static_cast<std::int64_t>(begins.size())) return;
    begins.push_back({now_of(CLOCK_MONOTONIC), now_of(CLOCK_PROCESS_CPUTIME_ID)});
  };
  const auto report = train(options, *communicator);
  if (!report || report->status != TrainStatus::completed) return 1;

  const auto wall = [&](std::size_t i) { return begins[i].wall_s - begins[i - 1].wall_s; };
  const auto cpu = [&](std::size_t i) { return begins[i].cpu_s - begins[i - 1].cpu_s; };
  std::vector<double> seconds;
  std::vector<double> wall_ratios;
  std::vector<double> cpu_ratios;
  // Epoch i, from 1, ends at begins[i]; the second is the first with a checkpoint.
  for (std::size_t i = 2; i + 1 < begins.size(); i += 2) {
    seconds.push_back(wall(i));
    wall_ratios.push_back(2 * wall(i) / (wall(i - 1) + wall(i + 1)));
    cpu_ratios.push_back(2 * cpu(i) / (cpu(i - 1) + cpu(i + 1)));
    fmt::print("{:.3f} s, wall {:.4f}, CPU {:.4f}\n", wall(i), wall_ratios.back(),
               cpu_ratios.back());
  }
  const double blocked_s = median_blocked_s(run_dir);
  std::filesystem::remove_all(run_dir);
  fmt::print(
      "{} epochs of {:.2f} s with a checkpoint, against their neighbours: wall {:.4f}, CPU time "
      "{:.4f}; training stood still for {:.1f} ms of it ({:.2f} %)\n",
      seconds.size(), median(seconds), median(wall_ratios), median(cpu_ratios), 1e3 * blocked_s,
      100 * blocked_s / median(seconds));
}

// Whole training steps on images in memory: forward, loss, backward, reduction, update.
// bench/training/measure runs it alternately with PyTorch.
//
//   bench_training [KEY=VALUE]...      keys and defaults: see `defaults` below
//   echo 20 | bench_training model=resnet50 batch=16 channels=3 size=128 classes=1000
//   echo 20 | bench_training model=gpt2-mini batch=8 tokens=256 classes=50257
//   mpirun -np 2 bench_training threads=1 batch=8 commands=/tmp/fifo   (rank R reads /tmp/fifo.R)
//
// Each command line is a number of steps; rank 0 answers with one line of JSON: the seconds of each
// step, the CPU seconds of this rank, its peak memory (MiB); on a GPU also the share of time
// between steps, and the milliseconds of a step spent waiting for other ranks. `report=steps` lists
// the parts of a step instead; `report=times` finally prints the time of each.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/opening/communicators.hpp"
#include "runtime/gradients/gradient_reducer.hpp"
#include "runtime/rank/rank_env.hpp"
#include "trainer/backends/table/backends.hpp"
#include "trainer/config/config.hpp"
#include "trainer/models/models.hpp"
#include "trainer/parameters/parameter_arenas.hpp"
#include "trainer/session/rank_zero_choices.hpp"

namespace {

using namespace dllaunch;
using Clock = std::chrono::steady_clock;

std::map<std::string, std::string> defaults() {
  return {{"model", "resnet50"}, {"backend", "onednn"}, {"batch", "16"},
          {"threads", "2"},      {"precision", "fp32"}, {"convolution", "auto"},
          {"channels", "3"},     {"size", "128"},       {"classes", "1000"},
          {"tokens", "0"},       {"commands", "-"},     {"communicator", "auto"},
          {"report", "answers"}, {"shard", "no"}};
}

/// Prints the error and exits.
[[noreturn]] void stop(const std::string& why) {
  fmt::print(stderr, "bench_training: {}\n", why);
  std::exit(1);
}

template <typename T>
T value_or_stop(Result<T> result) {
  if (!result) stop(result.error().what);
  return *std::move(result);
}

template <typename Table>
const auto& named(const Table& table, const std::string& name) {
  for (const auto& entry : table) {
    if (entry.name == name) return entry;
  }
  stop("there is no " + name);
}

double peak_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;
    double kib = 0;
    status >> kib;
    return kib / 1024;
  }
  return 0;
}

class Trained {
 public:
  Trained(const Graph& graph, Executable& executable, Communicator& communicator, int batch,
          bool shard)
      : executable_(executable),
        batch_(batch),
        ranks_(communicator.size()),
        arenas_(executable, communicator, *find_optimizer("sgd"),
                {.lr = 0.01, .momentum = 0.9, .weight_decay = 1e-4}, {.shard = shard}),
        reducer_(communicator, arenas_.layout(), arenas_.gradients(), arenas_.plan(25 << 20),
                 {.scatter = shard}) {
    arenas_.deal(arenas_.plan(25 << 20));
    arenas_.initialise(graph, 1);
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    const auto pixels = static_cast<std::size_t>(batch * elements_of(graph.input_shape()));
    memory_ = executable.image_memory(pixels * sizeof(float));
    if (memory_ == nullptr) plain_.resize(pixels);
    auto* const first = memory_ ? reinterpret_cast<float*>(memory_.get()) : plain_.data();
    const auto classes = static_cast<unsigned>(graph.classes());
    const bool tokens = graph.input_shape().size() == 1;
    for (std::size_t i = 0; i < pixels; ++i) {
      first[i] = tokens ? static_cast<float>(random() % classes) : normal(random);
    }
    images_ = {first, pixels};
    for (std::int64_t i = 0; i < batch * graph.labels(); ++i) {
      labels_.push_back(static_cast<std::int32_t>(random() % classes));
    }
  }

  void step() {
    const auto begin = Clock::now();
    executable_.forward({.images = images_, .labels = labels_, .count = batch_}, Phase::train);
    reducer_.begin();
    executable_.hold_ready_until(reducer_.last_slots());
    executable_.backward(1.0 / (batch_ * ranks_), false, [this](int slot) {
      if (slot != no_slot) reducer_.ready(slot);
      reducer_.progress();
    });
    reducer_.finish();
    const auto backward = Clock::now();
    arenas_.update({.lr = 0.01, .step = ++steps_});
    passes_s_ += std::chrono::duration<double>(backward - begin).count();
    update_s_ += std::chrono::duration<double>(Clock::now() - backward).count();
  }

  StepTimes take_step_times() { return executable_.take_step_times(); }

  /// Prints the mean milliseconds of a step, by part and by kind.
  void profile() const {
    std::map<std::string, double> kinds;
    double sum_s = 0;
    const auto names = executable_.steps();
    const auto seconds = executable_.step_seconds();
    const double to_ms = 1e3 / static_cast<double>(steps_);
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      fmt::print("{:8.3f} {}\n", seconds[i] * to_ms, names[i]);
      kinds[kind_of(names[i])] += seconds[i];
      sum_s += seconds[i];
    }
    kinds["loss, search for NaN, sums over ranks"] = passes_s_ - sum_s;
    kinds["update"] = update_s_;
    fmt::print("\n");
    for (const auto& [kind, s] : kinds) fmt::print("{:8.2f} {}\n", s * to_ms, kind);
    fmt::print("{:8.2f} a step\n", (passes_s_ + update_s_) * to_ms);
  }

 private:
  /// "own forward" of "bn1 forward: own", "wino backward data" of "conv1 backward data: ...wino..."
  static std::string kind_of(const std::string& step) {
    const std::size_t colon = step.find(':');
    const std::string what = step.substr(step.find(' ') + 1, colon - step.find(' ') - 1);
    for (const char* word : {"own", "wino", "pool", "gemm"}) {
      if (step.find(word, colon) != std::string::npos) return fmt::format("{} ({})", what, word);
    }
    return what;
  }

  Executable& executable_;
  int batch_;
  int ranks_;
  ParameterArenas arenas_;
  GradientReducer reducer_;
  std::vector<float> plain_;
  std::shared_ptr<std::byte> memory_;  // set if the device needs images in other memory
  std::span<const float> images_;
  std::vector<std::int32_t> labels_;
  std::int64_t steps_ = 0;
  double passes_s_ = 0;  // forward, backward, reductions
  double update_s_ = 0;
};

/// Returns the device times of these steps; empty if the device has no clock.
std::string device_times(const StepTimes& times) {
  if (times.gaps == 0) return "";
  const double idle_s = times.idle_s / times.gaps;
  const double busy_s = times.busy_s / times.steps;
  return fmt::format(", \"idle_share\": {:.6f}, \"exposed_ms\": {:.4f}", idle_s / (idle_s + busy_s),
                     times.exposed_s / times.steps * 1e3);
}

void answer(Trained& trained, int steps, bool speaks) {
  std::vector<double> seconds;
  const std::clock_t cpu_before = std::clock();
  for (int i = 0; i < steps; ++i) {
    const auto before = Clock::now();
    trained.step();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - before).count());
  }
  const double cpu_s = static_cast<double>(std::clock() - cpu_before) / CLOCKS_PER_SEC;
  if (!speaks) return;
  fmt::print("{{\"step_s\": [{:.6f}], \"cpu_s\": {:.4f}, \"peak_mib\": {:.1f}{}}}\n",
             fmt::join(seconds, ", "), cpu_s, peak_mib(), device_times(trained.take_step_times()));
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  auto options = defaults();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = std::min(word.find('='), word.size());
    const auto found = options.find(word.substr(0, equals));
    if (found == options.end() || equals == word.size()) stop("no such option: " + word);
    found->second = word.substr(equals + 1);
  }
  const auto number = [&](const char* key) { return std::stoi(options.at(key)); };
  const RankEnv env = value_or_stop(read_rank_env(process_environment()));
  auto communicator = value_or_stop(open_communicator(options.at("communicator"), env));
  const int size = number("size");
  const int tokens = number("tokens");
  const ImageShape shape =
      tokens > 0 ? ImageShape{1, 1, tokens} : ImageShape{number("channels"), size, size};
  const Graph graph =
      value_or_stop(named(models(), options.at("model")).build(shape, number("classes")));
  const TrainConfig config = value_or_stop(
      parse_config(fmt::format(R"({{"model": "cnn", "precision": "{}", "convolution": "{}"}})",
                               options.at("precision"), options.at("convolution"))));
  auto backend = value_or_stop(named(backends(), options.at("backend")).open());
  const std::string& report = options.at("report");
  RankZeroChoices choices(*communicator);
  auto executable = value_or_stop(backend->compile(graph, {.batch = number("batch"),
                                                           .precision = config.precision,
                                                           .threads = number("threads"),
                                                           .convolution = config.convolution,
                                                           .profile = report == "times",
                                                           .choices = &choices}));
  choices.attend();
  if (report == "steps") {
    for (const std::string& line : executable->steps()) fmt::print("{}\n", line);
    return 0;
  }
  Trained trained(graph, *executable, *communicator, number("batch"), options.at("shard") == "yes");
  const std::string& commands = options.at("commands");
  std::ifstream fifo;
  if (commands != "-") fifo.open(fmt::format("{}.{}", commands, env.rank));
  std::istream& in = commands == "-" ? std::cin : fifo;
  for (int steps = 0; in >> steps;) answer(trained, steps, env.rank == 0);
  if (report == "times" && env.rank == 0) trained.profile();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv);
}

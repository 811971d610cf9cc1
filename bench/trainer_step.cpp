// Images per second of forward + backward, without loading, reduction or update.
//
//   trainer_step_bench MODEL [BACKEND [BATCH [THREADS [SECONDS]]]]
//   trainer_step_bench cnn onednn 128 2
//   trainer_step_bench cnn onednn 128 1 & trainer_step_bench cnn onednn 128 1   (two ranks)
//
// Prints one line: the median and the fastest step. `--steps` as a sixth argument lists the parts
// of a step. images/s = batch / seconds from the call of forward() to the return of backward().
// Images per CPU second use the CPU time of all threads in the median step instead: with one thread
// on a busy machine, this is close to the rate of an idle one.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "trainer/backends/backend.hpp"
#include "trainer/backends/table/backends.hpp"
#include "trainer/models/models.hpp"

namespace {

using namespace dllaunch;
using Clock = std::chrono::steady_clock;

struct Arena {
  explicit Arena(std::size_t elements)
      : memory(
            static_cast<float*>(std::aligned_alloc(64, (elements * sizeof(float) + 63) / 64 * 64)),
            &std::free) {
    std::fill_n(memory.get(), elements, 0.F);
  }
  std::unique_ptr<float, void (*)(void*)> memory;
};

/// Sets small random weights and zero gradients.
void attach(Executable& executable, std::vector<Arena>& arenas) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-0.05F, 0.05F);
  std::vector<void*> weights;
  std::vector<void*> gradients;
  for (std::size_t slot = 0; slot < executable.slots().size(); ++slot) {
    const ParameterSlot& parameter = executable.slots()[slot];
    std::vector<float> plain(static_cast<std::size_t>(elements_of(parameter.shape)));
    for (float& value : plain) value = uniform(random);
    for (auto* list : {&weights, &gradients}) {
      arenas.emplace_back(parameter.elements);
      list->push_back(arenas.back().memory.get());
    }
    executable.from_plain(static_cast<int>(slot), plain.data(), weights.back());
  }
  executable.attach(weights, gradients);
}

struct Times {
  std::vector<double> wall_s;  // ascending
  std::vector<double> cpu_s;   // ascending
};

double median(const std::vector<double>& ascending) {
  return ascending[ascending.size() / 2];
}

Times time_steps(Executable& executable, const Graph& graph, int batch, double seconds) {
  std::vector<float> images(static_cast<std::size_t>(batch * elements_of(graph.input_shape())));
  std::vector<std::int32_t> labels(static_cast<std::size_t>(batch));
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (float& pixel : images) pixel = normal(random);
  for (std::int32_t& label : labels) {
    label = static_cast<std::int32_t>(random() % static_cast<unsigned>(graph.classes()));
  }
  Times times;
  const auto start = Clock::now();
  for (int step = 0;; ++step) {
    const auto before = Clock::now();
    const std::clock_t cpu_before = std::clock();
    executable.forward({.images = images, .labels = labels, .count = batch}, Phase::train);
    executable.backward(1.0 / batch, false, [](int) {});
    const auto after = Clock::now();
    if (step >= 3) {
      times.wall_s.push_back(std::chrono::duration<double>(after - before).count());
      times.cpu_s.push_back(static_cast<double>(std::clock() - cpu_before) / CLOCKS_PER_SEC);
    }
    if (step >= 3 && std::chrono::duration<double>(after - start).count() > seconds) break;
  }
  std::sort(times.wall_s.begin(), times.wall_s.end());
  std::sort(times.cpu_s.begin(), times.cpu_s.end());
  return times;
}

template <typename Table>
const auto* find(const Table& table, const std::string& name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const auto& entry) { return entry.name == name; });
  return found == table.end() ? nullptr : &*found;
}

int run(const std::vector<std::string>& args) {
  const auto word = [&args](std::size_t i, const char* otherwise) {
    return i < args.size() ? args[i] : std::string(otherwise);
  };
  const auto* model = find_model(word(0, "cnn"));
  const auto* entry = find(backends(), word(1, "onednn"));
  if (model == nullptr || entry == nullptr) {
    fmt::print(stderr, "trainer_step_bench MODEL [BACKEND [BATCH [THREADS [SECONDS]]]]\n");
    return 2;
  }
  const int batch = std::stoi(word(2, "128"));
  const int threads = std::stoi(word(3, "0"));
  auto graph = model->build({.channels = 1, .height = 28, .width = 28}, 10);
  auto backend = entry->open();
  auto executable = (*backend)->compile(*graph, {.batch = batch, .threads = threads});
  if (!executable) {
    fmt::print(stderr, "{}\n", executable.error().what);
    return 1;
  }
  std::vector<Arena> arenas;
  attach(**executable, arenas);
  if (word(5, "") == "--steps") {
    for (const std::string& line : (*executable)->steps()) fmt::print("{}\n", line);
    for (const ParameterSlot& slot : (*executable)->slots()) {
      fmt::print("{} {}: {} elements, {}\n", slot.name, to_string(slot.shape), slot.elements,
                 slot.layout);
    }
  }
  const Times times = time_steps(**executable, *graph, batch, std::stod(word(4, "5")));
  fmt::print(
      "{} on {}, batch {}, {} threads: {:.0f} images/s median, {:.0f} best, "
      "{:.0f} per CPU second, {} steps\n",
      model->name, entry->name, batch, threads, batch / median(times.wall_s),
      batch / times.wall_s.front(), batch / median(times.cpu_s), times.wall_s.size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run({argv + 1, argv + argc});
}

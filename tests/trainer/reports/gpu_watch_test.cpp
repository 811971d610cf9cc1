// Ranks whose backend claims to use a GPU, including whole trainings. `reference` computes; a fake
// NVML reports the sensors.
#include "trainer/reports/gpu_watch.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

#include "runtime/communicators/opening/communicators.hpp"
#include "runtime/rank/rank_env.hpp"
#include "tests/runtime/gpu/sensors/fake_sensors.hpp"
#include "tests/trainer/reports/event_file.hpp"
#include "tests/trainer/training/small_training.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/backends/table/backends.hpp"

namespace dllaunch {

extern const BackendEntry reference_backend;

namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string gpu_of(int rank) {
  return rank == 0 ? "0000:07:00.0" : "0000:0f:00.0";
}

class OnAGpu final : public Backend {
 public:
  OnAGpu(std::unique_ptr<Backend> computes, int rank)
      : computes_(std::move(computes)), rank_(rank) {}
  Result<std::unique_ptr<Executable>> compile(const Graph& graph,
                                              const CompileOptions& options) override {
    return computes_->compile(graph, options);
  }
  std::string gpu() const override { return gpu_of(rank_); }

 private:
  std::unique_ptr<Backend> computes_;
  int rank_;
};

Result<std::unique_ptr<Backend>> open_on_a_gpu() {
  auto env = read_rank_env(process_environment());
  if (!env) return std::move(env).error();
  auto computes = reference_backend.open();
  if (!computes) return computes;
  return std::unique_ptr<Backend>(std::make_unique<OnAGpu>(*std::move(computes), env->rank));
}

std::string version() {
  return "1";
}

}  // namespace

/// Replaces the generated table in this program.
std::span<const BackendEntry> backends() {
  static const BackendEntry table[] = {{"gpu", "cpu", version, open_on_a_gpu}, reference_backend};
  return table;
}

namespace {

/// Returns how often this process's sampler has called the fake.
int readings_so_far() {
  void* const library = ::dlopen(fake_nvml_state.c_str(), RTLD_NOW);
  void* const count = library == nullptr ? nullptr : ::dlsym(library, "dllaunch_fake_readings");
  return count == nullptr ? -1 : reinterpret_cast<int (*)()>(count)();
}

/// Waits until two more readings are complete, that is, until a third has begun. Independent of the
/// machine's speed.
void wait_for_readings() {
  const int before = readings_so_far();
  ASSERT_GE(before, 0) << "the fake has no counter";
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (readings_so_far() < before + 3) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the sensors are not read";
    std::this_thread::sleep_for(1ms);
  }
}

class RanksOnGpus : public testing::Test {
 protected:
  void SetUp() override {
    auto env = read_rank_env(process_environment());
    if (!env) throw std::runtime_error(env.error().what);
    auto opened = open_communicator("auto", *env);
    if (!opened) throw std::runtime_error(opened.error().what);
    communicator_ = *std::move(opened);
    // One folder for all ranks, as only rank 0 writes.
    if (rank() == 0) folder_.emplace();
    std::array<char, 4096> path{};
    if (rank() == 0) folder_->path().string().copy(path.data(), path.size() - 1);
    communicator_->wait(communicator_->broadcast(path.data(), path.size(), DType::u8, 0));
    run_dir_ = path.data();
  }

  int rank() const { return communicator_->rank(); }

  GpuWatchOptions on_a_gpu() const {
    return {.pci = gpu_of(rank()),
            .host = "n" + std::to_string(rank()),
            .libraries = fake_libraries(),
            .period = 5ms};
  }

  /// Repeats epochs until every rank's GPU has enough readings, at most 200.
  EpochGpus watched(GpuWatch& watch) {
    EpochGpus gpus;
    for (std::int64_t epoch = 1; epoch <= 200; ++epoch) {
      watch.begin_epoch();
      std::this_thread::sleep_for(100ms);
      gpus = watch.end_epoch(epoch);
      double enough = 1;
      for (const GpuUse& use : gpus.ranks) enough = use.readings < 3 ? 0 : enough;
      communicator_->wait(communicator_->broadcast(&enough, 1, DType::f64, 0));
      if (enough > 0) break;
    }
    return gpus;
  }

  Result<TrainReport> train_all(const std::string& backend, std::int64_t epochs = 2) {
    TrainOptions options;
    auto config = small_config(backend);
    config.epochs = epochs;
    options.prepare = {
        .config = config, .run_dir = run_dir_, .threads = 1, .warn = [this](auto line) {
          said_.emplace_back(line);
        }};
    options.host = "n" + std::to_string(rank());
    options.gpu_libraries = fake_libraries();
    options.gpu_period = 5ms;
    options.on_gpu_alarm = [heard = heard_](const std::string& line) {
      const std::lock_guard<std::mutex> lock(heard->mutex);
      heard->lines.push_back(line);
    };
    // Every step gets readings, so every epoch has some.
    options.on_step = [watched = backend == "gpu"](const StepReport&) {
      if (watched) wait_for_readings();
    };
    return train(options, *communicator_);
  }

  struct Heard {
    std::mutex mutex;
    std::vector<std::string> lines;
  };

  std::unique_ptr<Communicator> communicator_;
  std::optional<ScratchFolder> folder_;
  std::filesystem::path run_dir_;
  std::vector<std::string> said_;
  std::shared_ptr<Heard> heard_ = std::make_shared<Heard>();
};

TEST_F(RanksOnGpus, AreGatheredOnTheFirst) {
  const FakeSensors fault("hot");  // on the second GPU
  GpuWatch watch(*communicator_, on_a_gpu());
  const EpochGpus gpus = watched(watch);
  if (rank() != 0) {
    EXPECT_TRUE(gpus.empty());
    return;
  }
  ASSERT_EQ(gpus.ranks.size(), static_cast<std::size_t>(communicator_->size()));
  for (std::size_t i = 0; i < gpus.ranks.size(); ++i) {
    EXPECT_EQ(gpus.hosts[i], "n" + std::to_string(i));
    EXPECT_EQ(gpus.pci[i], gpu_of(static_cast<int>(i)));
    EXPECT_GE(gpus.ranks[i].readings, 3);
    EXPECT_DOUBLE_EQ(*gpus.ranks[i].power.mean(), i == 0 ? 412.5 : 300);
    EXPECT_DOUBLE_EQ(gpus.ranks[i].slowed_share().value_or(-1), i == 0 ? 0 : 1);
  }
}

/// Each rank's own steps of this epoch only.
TEST_F(RanksOnGpus, ReportWhereTheTimeOfTheirStepsGoes) {
  auto options = on_a_gpu();
  int asked = 0;
  options.steps = [&] {
    const double by = (++asked == 1 ? 1000 : 1) * (rank() + 1);
    return StepTimes{
        .steps = 2 * by, .busy_s = 3 * by, .exposed_s = 5 * by, .gaps = 7 * by, .idle_s = 11 * by};
  };
  GpuWatch watch(*communicator_, options);
  watch.begin_epoch();
  const EpochGpus gpus = watch.end_epoch(1);
  EXPECT_EQ(asked, 2);
  if (rank() != 0) return;
  for (std::size_t i = 0; i < gpus.ranks.size(); ++i) {
    const double by = static_cast<double>(i) + 1;
    EXPECT_EQ(gpus.ranks[i].steps, 2 * by) << "excludes what was before the epoch";
    EXPECT_EQ(gpus.ranks[i].busy_s, 3 * by);
    EXPECT_EQ(gpus.ranks[i].exposed_s, 5 * by);
    EXPECT_EQ(gpus.ranks[i].gaps, 7 * by);
    EXPECT_EQ(gpus.ranks[i].idle_s, 11 * by);
  }
}

TEST_F(RanksOnGpus, ARankOnACpuIsLeftOut) {
  auto options = on_a_gpu();
  if (rank() == 0) options.pci = "";
  GpuWatch watch(*communicator_, options);
  watch.begin_epoch();
  const EpochGpus gpus = watch.end_epoch(1);
  if (rank() != 0 || communicator_->size() == 1) {
    EXPECT_TRUE(gpus.empty());
    return;
  }
  EXPECT_EQ(gpus.ranks.size(), 2u);
  EXPECT_EQ(gpus.pci, (std::vector<std::string>{"", "0000:0f:00.0"}));
  EXPECT_EQ(gpus.ranks[0].readings, 0);
}

std::map<std::string, double> latest_scalars(const std::filesystem::path& run_dir) {
  std::map<std::string, double> found;
  for (const auto& entry : std::filesystem::directory_iterator(run_dir / "tensorboard")) {
    for (const auto& record : records_of(read_text(entry.path())).data) {
      const Fields event = fields_of(record);
      const auto summary = event.find(5);
      if (summary == event.end()) continue;
      for (const auto& [number, value] : fields_of(summary->second.bytes)) {
        const Fields fields = fields_of(value.bytes);
        const auto tag = fields.find(1);
        const auto scalar = fields.find(2);
        if (tag == fields.end() || scalar == fields.end()) continue;
        found[tag->second.bytes] = scalar->second.single();
      }
    }
  }
  return found;
}

TEST_F(RanksOnGpus, ATrainingReportsThem) {
  const FakeSensors fault("hot");
  const auto trained = train_all("gpu");
  ASSERT_TRUE(trained) << trained.error().what;
  if (rank() != 0) return;
  const auto events = events_of(run_dir_, "gpus");
  ASSERT_EQ(events.size(), 2u);
  const bool two = communicator_->size() == 2;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& event = events[i];
    EXPECT_EQ(event["epoch"], i + 1);
    EXPECT_EQ(event["ranks"], communicator_->size());
    EXPECT_EQ(event["answered"], communicator_->size());
    EXPECT_EQ(event["power_w"][4], 412.5);
    EXPECT_EQ(event["ecc_errors"], 0);
    EXPECT_EQ(event["xids"], 0);
    EXPECT_GT(event["energy_j"], 0);
    const auto& worst = event["worst"][0];
    EXPECT_EQ(worst["rank"], two ? 1 : 0);
    EXPECT_EQ(worst["host"], two ? "n1" : "n0");
    EXPECT_EQ(worst["pci"], gpu_of(two ? 1 : 0));
    EXPECT_EQ(worst["throttled"], two ? 1 : 0);
    EXPECT_EQ(worst["lowest_clock_mhz"], two ? 660 : 1755);
  }
  EXPECT_EQ(events[0]["notes"].size(), two ? 1u : 0u);
  EXPECT_EQ(events[1]["notes"].size(), 0u) << "reported once";
  if (two) {
    EXPECT_THAT(said_, testing::Contains(HasSubstr("rank 1 on n1, GPU 0000:0f:00.0")));
  }
  auto shown = latest_scalars(run_dir_);
  EXPECT_NEAR(shown["gpu/power_W"], two ? 356.25 : 412.5, 1e-3);
  EXPECT_NEAR(shown["gpu/utilisation"], two ? 0.625 : 0.75, 1e-6);
  EXPECT_EQ(shown["gpu/throttled"], two ? 1 : 0);
  EXPECT_GT(shown["gpu/memory_GiB"], 0);
  EXPECT_GT(shown["gpu/sm_clock_MHz"], 0);
}

TEST_F(RanksOnGpus, AnErrorIsReportedOnItsRank) {
  const FakeSensors fault("xid");  // on the second GPU
  ASSERT_TRUE(train_all("gpu", 1));
  const std::lock_guard<std::mutex> lock(heard_->mutex);
  EXPECT_EQ(heard_->lines.size(), rank() == 1 ? 2u : 0u);
  if (rank() == 1) {
    EXPECT_THAT(heard_->lines.at(1), HasSubstr("GPU 0000:0f:00.0: XID 79"));
  }
  if (rank() != 0) return;
  const auto event = events_of(run_dir_, "gpus").at(0);
  EXPECT_EQ(event["xids"], communicator_->size() == 2 ? 3 : 0);
  if (communicator_->size() == 2) {
    EXPECT_EQ(event["worst"][0]["xids"], Json::parse("[31, 79]"));
  }
}

std::size_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST_F(RanksOnGpus, ATrainingOnCpusHasNoGpuReports) {
  auto options = on_a_gpu();
  options.pci = "";
  const auto before = threads_of_this_process();
  const GpuWatch watch(*communicator_, options);
  EXPECT_LE(threads_of_this_process(), before);
  ASSERT_TRUE(train_all("reference", 1));
  if (rank() != 0) return;
  EXPECT_TRUE(events_of(run_dir_, "gpus").empty());
  EXPECT_FALSE(latest_scalars(run_dir_).contains("gpu/power_W"));
  EXPECT_EQ(events_of(run_dir_, "epoch").size(), 1u);
}

}  // namespace
}  // namespace dllaunch

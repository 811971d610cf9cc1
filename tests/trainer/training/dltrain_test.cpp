// The whole program on one rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <sstream>

#include "support/json.hpp"
#include "tests/trainer/address_space.hpp"
#include "tests/trainer/backends/usable_backends.hpp"
#include "tests/trainer/data/datasets/idx_bytes.hpp"
#include "tests/trainer/training/run_program.hpp"
#include "tests/trainer/training/small_training.hpp"
#include "trainer/backends/table/backends.hpp"
#include "trainer/config/config.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string dltrain = std::string(DLLAUNCH_BIN_DIR) + "/dltrain";

RunningProgram::Ended train_in(const fs::path& run_dir, const Json& job) {
  write_text(run_dir / "train.json", job.dump());
  return run_program({dltrain, "--config", (run_dir / "train.json").string()});
}

Json small_job() {
  return Json::parse(R"({
    "name": "small", "device": "cpu", "model": "lenet", "backend": "reference", "batch_size": 16,
    "dataset": {"kind": "synthetic", "images": 100},
    "runtime": {"allreduce": "auto", "bucket_mb": "auto", "overlap": true}})");
}

TEST(Dltrain, DescribesItselfWithoutARun) {
  const auto help = run_program({dltrain, "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.output, HasSubstr("Examples:"));
  const auto version = run_program({dltrain, "--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.output, testing::ContainsRegex("^dltrain [0-9.]+\n$"));
  // On a rank too: a launcher's variables must not make it start MPI.
  const auto schema = run_program(
      {"env", "OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2", dltrain, "--describe"});
  EXPECT_EQ(schema.exit_code, 0);
  EXPECT_EQ(schema.output, describe_config());
}

TEST(Dltrain, IsLinkedWithNoMpiLibrary) {
  const auto libraries = run_program({"ldd", dltrain});
  ASSERT_EQ(libraries.exit_code, 0) << libraries.output;
  EXPECT_THAT(libraries.output, HasSubstr("libc.so"));
  EXPECT_THAT(libraries.output, testing::Not(HasSubstr("libmpi")));
}

TEST(Dltrain, UsageErrorsEndWithTwo) {
  for (const auto& argv : std::vector<std::vector<std::string>>{
           {dltrain}, {dltrain, "--config"}, {dltrain, "train.json"}, {dltrain, "--bogus", "x"}}) {
    const auto ended = run_program(argv);
    EXPECT_EQ(ended.exit_code, 2);
    EXPECT_THAT(ended.output, HasSubstr("dltrain: error: expected --config FILE"));
    EXPECT_THAT(ended.output, HasSubstr("  try: dltrain --help"));
  }
  EXPECT_EQ(run_program({dltrain, "--config", "/nowhere/train.json"}).exit_code, 2);
}

TEST(Dltrain, ConfigurationErrorsEndWithTwoAllAtOnce) {
  const ScratchFolder folder;
  auto job = small_job();
  job["epocs"] = 1;
  job["batch_size"] = -1;
  const auto ended = train_in(folder.path(), job);
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.output, HasSubstr("train.json: unknown key 'epocs'; did you mean 'epochs'?"));
  EXPECT_THAT(ended.output, HasSubstr("train.json: batch_size must be at least 1, not -1"));
}

TEST(Dltrain, TrainsBesideItsConfiguration) {
  const ScratchFolder folder;
  const auto ended = train_in(folder / "run", small_job());
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("lenet (61706 parameters) on synthetic: 100 images"));
  EXPECT_THAT(ended.output, HasSubstr("epoch 1/1: loss "));
  EXPECT_EQ(events_of(folder / "run", "end").at(0)["status"], "completed");
  EXPECT_TRUE(fs::exists(folder / "run" / "checkpoints" / "step-00000007" / "state.json"));
  const auto again = run_program({dltrain, "--config", (folder / "run" / "train.json").string()});
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.output, HasSubstr("nothing is left to do"));
}

TEST(Dltrain, TrainsIntoAnotherFolder) {
  const ScratchFolder folder;
  ASSERT_EQ(train_in(folder / "run", small_job()).exit_code, 0);
  fs::create_directories(folder / "there");
  const auto ended = run_program({dltrain, "--config", (folder / "run" / "train.json").string(),
                                  "--run-dir", (folder / "there").string()});
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  EXPECT_EQ(events_of(folder / "there", "end").at(0)["status"], "completed");
  EXPECT_TRUE(fs::exists(folder / "there" / "checkpoints" / "step-00000007"));
}

struct Damage {
  const char* name;
  std::string file;
  std::string content;
  std::string what;
};

std::vector<Damage> damages() {
  const std::string images = "train-images-idx3-ubyte.gz";
  const std::string labels = "train-labels-idx1-ubyte";
  const std::string whole = packed(image_file(small_images));
  std::string flipped = whole;
  flipped[whole.size() - 6] ^= 4;
  std::string bad_label = label_file(small_images);
  bad_label.back() = 77;
  return {{"gzip truncated", images, whole.substr(0, whole.size() / 2), "gzip data truncated"},
          {"gzip CRC", images, flipped, "gzip data damaged: incorrect data check"},
          {"no IDX", images, packed("hello, world"), "wrong magic number"},
          {"truncated", "t10k-images-idx3-ubyte", image_file(10).substr(0, 5000), "truncated"},
          {"trailing", labels, label_file(small_images) + "x", "bytes follow the end"},
          {"element type", labels, std::string("\0\0\x0c\x01\0\0\0\1abcd", 12), "32-bit integers"},
          {"counts", labels, label_file(3), "has 3 labels"},
          {"label", labels, bad_label, "label 77 of image 39 is out of range 0..9"}};
}

TEST(Dltrain, DamagedDataEndsWithTwoBeforeAnythingIsWritten) {
  for (const auto& damage : damages()) {
    const ScratchFolder folder;
    write_small_mnist(folder / "data");
    write_text(folder / "data" / damage.file, damage.content);
    auto job = small_job();
    job["dataset"] = {{"kind", "mnist"}, {"path", (folder / "data").string()}};
    const auto ended = train_in(folder / "run", job);
    EXPECT_EQ(ended.exit_code, 2) << damage.name << ended.output;
    EXPECT_THAT(ended.output, HasSubstr(damage.what)) << damage.name;
    EXPECT_THAT(ended.output, HasSubstr((folder / "data" / damage.file).string())) << damage.name;
    EXPECT_FALSE(fs::exists(folder / "run" / "checkpoints")) << damage.name;
    EXPECT_FALSE(fs::exists(folder / "run" / "events.jsonl")) << damage.name;
  }
}

TEST(Dltrain, MissingDataSaysHowToGetIt) {
  const ScratchFolder folder;
  auto job = small_job();
  job["dataset"] = {{"kind", "fashion-mnist"}, {"path", (folder / "absent").string()}};
  const auto ended = train_in(folder / "run", job);
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.output, HasSubstr("apt-get install dataset-fashion-mnist"));
  for (const std::string kind : {"mnist", "cifar10", "cifar100"}) {
    job["dataset"]["kind"] = kind;
    EXPECT_THAT(train_in(folder / "run", job).output, HasSubstr("dllaunch data get " + kind));
  }
}

/// Activations of 256 images take far more than the 4 GiB that the program may map.
TEST(Dltrain, SaysWhatToDoWhenMemoryRunsOut) {
  if (!memory_may_be_limited()) GTEST_SKIP() << "a sanitizer maps memory itself";
  const ScratchFolder folder;
  auto job = small_job();
  job["model"] = "resnet50";
  job["batch_size"] = 256;
  job["dataset"]["image_size"] = 224;
  write_text(folder / "train.json", job.dump());
  const auto ended = run_program({"sh", "-c", "ulimit -v 4194304; exec \"$0\" --config \"$1\"",
                                  dltrain, (folder / "train.json").string()});
  EXPECT_EQ(ended.exit_code, 70) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("dltrain: out of memory on this node: a smaller batch_size "
                                      "or fewer dataset.workers need less"));
}

/// stdout contains only the line for the job file.
TEST(Dltrain, MakesDataAndPrintsOnlyItsLine) {
  const ScratchFolder folder;
  const std::string to = (folder / "made").string();
  const auto ended =
      run_program({"sh", "-c", "\"$0\" --make-data \"$1\" 20 8 2 1 2>/dev/null", dltrain, to});
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(ended.output, "dataset: {kind: npy, path: " + to + ", classes: 2}\n");
}

/// The wall clock runs 100,000 times too fast: the training seems to take hours, but goodput counts
/// the actual time.
TEST(Dltrain, EventTimesDoNotDependOnTheWallClock) {
  const std::string library = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
  if (!fs::exists(library)) GTEST_SKIP() << "libfaketime is not installed";
  if (DLLAUNCH_SANITIZED) GTEST_SKIP() << "a sanitizer's library must be the first preloaded one";
  const ScratchFolder folder;
  write_text(folder / "run" / "train.json", small_job().dump());
  const auto began = std::chrono::steady_clock::now();
  const auto ended = run_program({"env", "LD_PRELOAD=" + library, "FAKETIME=+0 x100000",
                                  "DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
                                  dltrain, "--config", (folder / "run" / "train.json").string()});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  ASSERT_EQ(ended.exit_code, 0) << ended.output;
  std::istringstream lines(read_text(folder / "run" / "events.jsonl"));
  std::vector<double> times;
  for (std::string line; std::getline(lines, line);) times.push_back(Json::parse(line)["time"]);
  ASSERT_GE(times.size(), 3u);
  EXPECT_TRUE(std::ranges::is_sorted(times));
  EXPECT_LE(times.back() - times.front(), took.count());
}

/// oneDNN's sums depend on the number of threads, so it is fixed.
TEST(Dltrain, ResumesOnOneDnnToTheLastBitWithAFixedNumberOfThreads) {
  const auto works = [](const BackendEntry& entry) { return entry.name == "onednn"; };
  if (std::none_of(backends().begin(), backends().end(), works)) GTEST_SKIP() << "no oneDNN";
  const ScratchFolder folder;
  auto job = small_job();
  job["backend"] = "onednn";
  const auto train_to = [&](const char* run, int epochs) {
    job["epochs"] = epochs;
    write_text(folder / run / "train.json", job.dump());
    const auto ended = run_program({"env", "OMP_NUM_THREADS=2", "OMP_WAIT_POLICY=passive", dltrain,
                                    "--config", (folder / run / "train.json").string()});
    EXPECT_EQ(ended.exit_code, 0) << ended.output;
  };
  train_to("whole", 3);
  for (const int epochs : {1, 2, 3}) train_to("parts", epochs);
  EXPECT_EQ(weights_at(folder / "parts", "step-00000021"),
            weights_at(folder / "whole", "step-00000021"));
}

TEST(Dltrain, AMissingDeviceEndsWithThree) {
  const ScratchFolder folder;
  auto job = small_job();
  job["device"] = "hip";
  EXPECT_EQ(train_in(folder / "run", job).exit_code, 3);
}

/// Makes oneDNN treat this CPU as an older one.
TEST(Dltrain, BFloat16ReportsWhatTheCpuLacks) {
  const auto train_on = [](const std::string& instructions, const char* precision) {
    const ScratchFolder folder;
    auto job = small_job();
    job["backend"] = "auto";
    job["precision"] = precision;
    job["max_steps"] = 1;
    write_text(folder.path() / "train.json", job.dump());
    return run_program({"env", "DNNL_MAX_CPU_ISA=" + instructions, dltrain, "--config",
                        (folder.path() / "train.json").string()});
  };
  if (train_on("ALL", "bf16").exit_code != 0) GTEST_SKIP() << "no bf16 on this CPU";
  const auto imitated = train_on("AVX512_CORE", "bf16");
  EXPECT_EQ(imitated.exit_code, 0) << imitated.output;
  EXPECT_THAT(imitated.output, HasSubstr("dltrain: warning: precision bf16: this CPU has no "
                                         "bfloat16 instructions, oneDNN imitates them"));
  const auto refused = train_on("AVX2", "bf16");
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.output,
              HasSubstr("backend onednn does not compute in bf16 on this CPU: it has no AVX-512"));
  EXPECT_THAT(refused.output, HasSubstr("  try: use fp32"));
}

TEST(Dltrain, HalfPrecisionIsRefusedByEveryBackend) {
  const ScratchFolder folder;
  for (const BackendEntry& entry : usable_backends()) {
    for (const auto backend : {entry.name, std::string_view("auto")}) {
      auto job = small_job();
      job["backend"] = backend;
      job["precision"] = "fp16";
      const auto ended = train_in(folder / "run", job);
      EXPECT_EQ(ended.exit_code, 2) << ended.output;
      EXPECT_THAT(ended.output, HasSubstr("fp16"));
      EXPECT_THAT(ended.output, HasSubstr("  try: use "));
      EXPECT_FALSE(fs::exists(folder / "run/checkpoints"));
    }
  }
}

TEST(Dltrain, DamagedCheckpointsAreNamedAndThePreviousOneIsUsed) {
  const ScratchFolder folder;
  auto job = small_job();
  job["epochs"] = 3;
  ASSERT_EQ(train_in(folder / "run", job).exit_code, 0);
  const fs::path checkpoints = folder / "run" / "checkpoints";
  fs::resize_file(checkpoints / "step-00000021" / "optimizer.safetensors", 20);
  const fs::path damaged = checkpoints / "step-00000014" / "model.safetensors";
  std::string bytes = read_text(damaged);
  bytes[bytes.size() / 2] ^= 1;
  write_text(damaged, bytes);
  job["epochs"] = 4;
  const auto ended = train_in(folder / "run", job);
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  EXPECT_THAT(ended.output,
              HasSubstr("warning: refused " + (checkpoints / "step-00000021").string() +
                        ": optimizer.safetensors is truncated: 20 of "));
  EXPECT_THAT(ended.output,
              HasSubstr("warning: refused " + (checkpoints / "step-00000014").string() +
                        ": model.safetensors is damaged: its checksum"));
  EXPECT_EQ(events_of(folder / "run", "restart").at(0)["from"],
            (checkpoints / "step-00000007").string());
}

TEST(Dltrain, SignalsWriteACheckpointAndStop) {
  auto job = small_job();
  job["epochs"] = 100000;
  job["checkpoint"] = {{"every_epochs", nullptr}};
  for (const int signal : {SIGUSR2, SIGTERM, SIGINT}) {
    const ScratchFolder folder;
    write_text(folder / "train.json", job.dump());
    RunningProgram running({dltrain, "--config", (folder / "train.json").string()});
    for (int i = 0;
         i < 6000 && read_text(folder / "events.jsonl").find("\"step\"") == std::string::npos;
         ++i) {
      usleep(10'000);
    }
    kill(running.pid(), signal);
    const auto ended = running.wait();
    EXPECT_EQ(ended.exit_code, 0) << ended.output;
    EXPECT_EQ(events_of(folder.path(), "end").at(0)["status"], "cancelled");
    EXPECT_TRUE(find_newest_checkpoint(folder / "checkpoints").found);
  }
}

TEST(Dltrain, AnUnwritableRunDirectoryEndsWithThree) {
  const ScratchFolder folder;
  fs::create_directories(folder / "run" / "events.jsonl");  // a directory where the file should be
  const auto ended = train_in(folder / "run", small_job());
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_THAT(ended.output,
              HasSubstr("cannot write " + (folder / "run" / "events.jsonl").string()));
}

}  // namespace
}  // namespace dllaunch

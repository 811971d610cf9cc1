// scripts/gpu-check: what it says where there is no GPU, and with programs of the test's own in
// place of those that need one, that nothing which failed or did not run passes for a success.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/temporary_folder.hpp"
#include "tests/trainer/run_program.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string script = std::string(DLLAUNCH_SOURCE_DIR) + "/scripts/gpu-check";
constexpr int no_gpu = 77;

/// Programs beside a GPU that are none.
class GpuCheck : public testing::Test {
 protected:
  void SetUp() override {
    // Names of people's files may have quotes in them: the report must still be JSON.
    put("nvidia-smi", "echo 'NVIDIA \"H\" 200, 00000000:C1:00.0, 580.1'");
    for (const char* program : {"cuda_test", "nccl_test", "device_choice_test", "compute_test",
                                "trainer_test", "optimizers_test"}) {
      put(program, "echo '[  PASSED  ] 3 tests.'; echo '[  SKIPPED ] 2 tests, listed below:'");
    }
    put("compute-sanitizer", "shift 4; exec \"$@\"");
    put("dltrain", "echo '\"CUDA 13.0, cuDNN 9.19 on cuda\"'");
    put("bench_training",
        "read -r warm; read -r steps; echo '{\"step_s\": [9], \"cpu_s\": 1}'; printf '{\"step_s\": "
        "[0.5'; for i in $(seq 2 $steps); do printf ', 0.25'; done; echo '], \"cpu_s\": 1}'");
  }

  void put(const std::string& program, const std::string& commands) {
    const fs::path file = folder("bin") / program;
    std::ofstream(file) << "#!/bin/sh\n" << commands << "\n";
    fs::permissions(file, fs::perms::owner_all);
  }

  RunningProgram::Ended check() {
    return run_program({"env", "PATH=" + folder("bin").string() + ":/usr/bin:/bin", script, "--bin",
                        folder("bin"), "--out", folder("out")});
  }

  nlohmann::json report() {
    return nlohmann::json::parse(std::ifstream(folder("out") / "gpu-check.json"));
  }

  fs::path folder(const std::string& name) const {
    fs::create_directories(fs::path(all_.path()) / name);
    return fs::path(all_.path()) / name;
  }

 private:
  TemporaryFolder all_;
};

TEST_F(GpuCheck, SaysInOneLineThatThereIsNoGpu) {
  if (fs::exists("/proc/driver/nvidia/gpus")) GTEST_SKIP() << "SKIPPED there is one";
  put("nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9");
  const auto ended = check();
  EXPECT_EQ(ended.exit_code, no_gpu);
  EXPECT_THAT(ended.output, HasSubstr("gpu-check: no GPU here"));
  EXPECT_EQ(std::ranges::count(ended.output, '\n'), 1) << ended.output;
  EXPECT_FALSE(fs::exists(folder("out") / "gpu-check.json"));
}

TEST_F(GpuCheck, LeavesATableAndOneJson) {
  const auto ended = check();
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("NVIDIA \"H\" 200"));
  const auto json = report();
  EXPECT_EQ(json["gpus"], "NVIDIA \"H\" 200, 00000000:C1:00.0, 580.1");
  EXPECT_EQ(json["backend"], "CUDA 13.0, cuDNN 9.19 on cuda");
  ASSERT_GE(json["tests"].size(), 6U);
  for (const auto& test : json["tests"]) {
    EXPECT_EQ(test["verdict"], "passed") << test;
    EXPECT_EQ(test["passed"], 3);
    EXPECT_EQ(test["skipped"], 2);
  }
  ASSERT_GE(json["benchmarks"].size(), 3U);
  for (const auto& bench : json["benchmarks"]) {
    EXPECT_DOUBLE_EQ(bench["images_per_s"], bench["batch"].get<double>() / 0.25) << bench;
  }
  EXPECT_THAT(ended.output, HasSubstr("resnet50-224-bf16"));
}

TEST_F(GpuCheck, WhatDidNotRunIsNoSuccess) {
  put("compute_test", "echo '[  PASSED  ] 0 tests.'");
  EXPECT_EQ(check().exit_code, 1);
  std::map<std::string, std::string> verdicts;
  for (const auto& test : report()["tests"]) verdicts[test["name"]] = test["verdict"];
  EXPECT_EQ(verdicts["backend"], "FAILED");
  EXPECT_EQ(verdicts["cuda"], "passed");
}

TEST_F(GpuCheck, ABenchmarkThatEndsEarlyHasNoNumber) {
  put("bench_training", "echo 'bench_training: out of memory' >&2; exit 1");
  EXPECT_EQ(check().exit_code, 1);
  for (const auto& bench : report()["benchmarks"]) EXPECT_TRUE(bench["images_per_s"].is_null());
}

TEST_F(GpuCheck, AMissingProgramIsNamed) {
  fs::remove(folder("bin") / "cuda_test");
  const auto ended = check();
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.output, HasSubstr("cuda_test is missing"));
}

TEST(GpuCheckScript, ShellcheckHasNothingToSay) {
  if (run_program({"which", "shellcheck"}).exit_code != 0) {
    GTEST_SKIP() << "SKIPPED shellcheck is not installed";
  }
  const auto ended = run_program({"shellcheck", script});
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
}

}  // namespace
}  // namespace dllaunch

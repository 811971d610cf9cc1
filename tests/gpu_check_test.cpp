// scripts/gpu-check: what it says where there is no GPU, and with programs of the test's own in
// place of those that need one, that nothing which failed or did not run passes for a success.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "support/json.hpp"
#include "tests/support/json_file.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/trainer/training/run_program.hpp"

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
    // A name may have quotes in it: the report must still be JSON.
    put("nvidia-smi", "echo 'NVIDIA \"H\" 200, 00000000:C1:00.0, 580.1'");
    for (const char* program :
         {"cuda_test", "nccl_test", "compute_test", "trainer_test", "training_test", "losses_test",
          "fine_tuning_test", "sync_batch_norm_test"}) {
      put(program, "echo '[  PASSED  ] 3 tests.'; echo '[  SKIPPED ] 2 tests, listed below:'");
    }
    put("libdltrain_mpi.so", "");
    put("libdltrain_cuda.so", "");
    fs::copy_file("/proc/self/exe", folder("bin") / "libdltrain_nccl.so");  // has libraries
    put("compute-sanitizer", "shift 4; exec \"$@\"");
    put("dltrain", trains_to("2.5"));
    put("bench_training",
        "read -r warm; read -r steps; echo '{\"step_s\": [9], \"cpu_s\": 1}'; printf '{\"step_s\": "
        "[0.5'; for i in $(seq 2 $steps); do printf ', 0.25'; done; echo '], \"cpu_s\": 1, "
        "\"idle_share\": '${IDLE:-0.012500}', \"exposed_ms\": 0.0}'");
    put("bench_roofline", "echo '{\"floor_s\": 1.250000e-01, \"bytes\": 1.5e+11}'");
    put("python3",  // in place of beside_pytorch.py, too
        R"sh([ "$2" = prepare ] && exit 0
            echo '{"name": "'"$2"'-row", "value": 1.25, "verdict": "met"}'
            echo "table: $2-row met"
            echo "not measured: torch.compile: $2 (too old)")sh");
  }

  /// Commands of a dltrain whose trainings in stages end with this loss.
  static std::string trains_to(const std::string& loss) {
    return R"sh([ "$1" = --describe ] && exec echo '"CUDA 13.0, cuDNN 9.19 on cuda"'
            [ $WORLD_SIZE = 1 ] && loss=2.5 || loss=)sh" +
           loss + R"sh(
            [ $RANK = 1 ] || echo '{"event":"epoch","epoch":1,"loss":'$loss',"lr":0.1}' \
              >"${2%/*}/events.jsonl")sh";
  }

  void put(const std::string& program, const std::string& commands) {
    const fs::path file = folder("bin") / program;
    std::ofstream(file) << "#!/bin/sh\n" << commands << "\n";
    fs::permissions(file, fs::perms::owner_all);
  }

  RunningProgram::Ended run(std::vector<std::string> command) {
    std::vector<std::string> argv{"env", "PATH=" + folder("bin").string() + ":/usr/bin:/bin"};
    argv.insert(argv.end(), command.begin(), command.end());
    return run_program(argv);
  }

  RunningProgram::Ended check(const std::string& seconds = "60",
                              const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{script,        "--bin",     folder("bin"), "--out",
                                   folder("out"), "--seconds", seconds};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }

  Json report() { return json_of_file(folder("out") / "gpu-check.json"); }

  fs::path folder(const std::string& name) const {
    fs::create_directories(fs::path(all_.path()) / name);
    return fs::path(all_.path()) / name;
  }

 private:
  TemporaryFolder all_;
};

TEST_F(GpuCheck, SaysInOneLineThatThereIsNoGpu) {
  if (fs::exists("/proc/driver/nvidia/gpus")) GTEST_SKIP() << "there is one";
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
  ASSERT_EQ(json["tests"].size(), 11U) << "compute-sanitizer with two tools among them";
  for (const auto& test : json["tests"]) {
    EXPECT_EQ(test["verdict"], "passed") << test;
    if (test["name"] == "stages") continue;
    EXPECT_EQ(test["passed"], 3);
    EXPECT_EQ(test["skipped"], 2);
  }
  ASSERT_GE(json["benchmarks"].size(), 3U);
  for (const auto& bench : json["benchmarks"]) {
    EXPECT_DOUBLE_EQ(bench["images_per_s"], bench["batch"].get<double>() / 0.25) << bench;
  }
  EXPECT_THAT(ended.output, HasSubstr("resnet50-224-bf16"));
  EXPECT_THAT(ended.output, HasSubstr("not measured: decoding of JPEG files, "));
}

TEST_F(GpuCheck, SetsWhatWasReachedBesideWhatIsAsked) {
  const auto ended = check();
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  const auto rows = report()["must_reach"];
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[0]["name"], "roofline-resnet50-224-bf16");
  EXPECT_DOUBLE_EQ(rows[0]["value"], 0.5) << "0.125 s of 0.25";
  EXPECT_EQ(rows[0]["verdict"], "stated");
  EXPECT_DOUBLE_EQ(rows[0]["details"]["bytes"], 1.5e11);
  std::size_t i = 0;
  for (const std::string part : {"steps", "data", "start"}) {
    EXPECT_EQ(rows[++i]["name"], part + "-row");
    EXPECT_THAT(ended.output, HasSubstr("\n" + part + "-row met\n"));
    EXPECT_THAT(report()["not_measured"],
                testing::Contains("torch.compile: " + part + " (too old)"));
  }
  EXPECT_EQ(rows[4]["name"], "idle-resnet50-224-bf16");
  EXPECT_DOUBLE_EQ(rows[4]["value"], 0.0125);
  EXPECT_EQ(rows[4]["verdict"], "met");
  EXPECT_DOUBLE_EQ(report()["benchmarks"][0]["idle_between_steps"], 0.0125);
}

/// More than is asked is told as such, and a backend without a clock has no number.
TEST_F(GpuCheck, IdleTimeIsJudgedOrMissing) {
  for (const std::string said : {"0.020001", ""}) {
    put("bench_training",
        "read -r warm; read -r steps; printf '{\"step_s\": [0.5'; for i in $(seq 2 "
        "$steps); do printf ', 0.25'; done; echo '], \"cpu_s\": 1" +
            (said.empty() ? "" : ", \"idle_share\": " + said + ", \"exposed_ms\": 0") + "}'");
    EXPECT_EQ(check().exit_code, 0);
    const auto json = report();
    if (said.empty()) {
      EXPECT_THAT(json["not_measured"],
                  testing::Contains("GPU idle between steps of resnet50-224-bf16"));
    } else {
      EXPECT_EQ(json["must_reach"][4]["verdict"], "not met");
    }
  }
}

TEST_F(GpuCheck, StagesThatTrainOtherwiseOrNotAtAllAreAFailure) {
  for (const std::string& dltrain :
       {trains_to("2.51"), std::string("[ $1 = --describe ] || [ $RANK = 0 ] || exit 3")}) {
    put("dltrain", dltrain);
    EXPECT_EQ(check().exit_code, 1) << dltrain;
    for (const auto& test : report()["tests"]) {
      EXPECT_EQ(test["verdict"], test["name"] == "stages" ? "FAILED" : "passed") << test;
    }
  }
}

TEST_F(GpuCheck, ANumberThatFallsShortIsNoFailure) {
  put("python3", "echo '{\"name\": \"slow\", \"value\": 0.5, \"verdict\": \"not met\"}'");
  EXPECT_EQ(check().exit_code, 0);
  EXPECT_EQ(report()["must_reach"][1]["verdict"], "not met");
}

TEST_F(GpuCheck, WithoutPythonTheRestRuns) {
  const auto ended = check("60", {"--python", "no-such-python"});
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  EXPECT_EQ(report()["must_reach"].size(), 2U) << "the roofline's and the idle time";
  EXPECT_THAT(report()["not_measured"],
              testing::Contains("beside PyTorch: steps (no no-such-python here)"));
}

TEST_F(GpuCheck, APartBesidePyTorchThatFailsOrHangsIsNamed) {
  put("python3",
      "case $2 in steps) echo 'Traceback'; exit 1 ;;\n"
      "data) echo '{\"name\": \"torn'; exec sleep 600 ;;\n"
      "start) echo '{\"name\": \"whole\", \"value\": null}'; exit 1 ;; esac");
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(check("6").exit_code, 1);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(60));
  const auto json = report();
  EXPECT_EQ(json["must_reach"].size(), 2U) << "there was no time for the start";
  for (const char* part : {"steps", "data", "start"}) {
    EXPECT_THAT(json["not_measured"].dump(), HasSubstr(std::string("beside PyTorch: ") + part));
  }
}

TEST_F(GpuCheck, APartBesidePyTorchThatSaysNothingIsAFailure) {
  for (const std::string end : {"exit 0", "exit 1", "echo '{\"name\": \"row\"}'; exit 1"}) {
    put("python3", "[ $2 = steps ] && { " + end + "; }; echo '{\"name\": \"row\"}'");
    const auto ended = check();
    EXPECT_EQ(ended.exit_code, 1) << end;
    EXPECT_THAT(ended.output, testing::ContainsRegex("beside PyTorch: steps +FAILED")) << end;
  }
}

TEST_F(GpuCheck, CachesThatCannotBeFilledAreAFailure) {
  put("python3", "[ $2 = prepare ] && exit 1; echo '{\"name\": \"row\"}'");
  const auto ended = check();
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.output, HasSubstr("PyTorch's caches"));
}

TEST_F(GpuCheck, AFloorWithoutSenseIsNoNumber) {
  for (const std::string said :
       {R"(echo 'bench_roofline: no GPU'; exit 1)", R"(echo '{"floor_s": soon}')",
        R"(echo '{"floor_s": 1, "bytes": nan}')", R"(echo '{"floor_s": 1, "bytes": 2}'; exit 1)"}) {
    put("bench_roofline", said);
    fs::remove_all(folder("out"));
    EXPECT_EQ(check().exit_code, 1) << said;
    EXPECT_TRUE(report()["must_reach"][0]["value"].is_null()) << said;
    EXPECT_TRUE(report()["must_reach"][0]["verdict"].is_null()) << said;
    EXPECT_THAT(report()["not_measured"].dump(), HasSubstr("fraction of the roofline")) << said;
  }
}

TEST_F(GpuCheck, WhatTakesTooLongIsStoppedAndHasFailed) {
  put("compute_test", "echo '[  PASSED  ] 3 tests.'; sleep 600");
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(check("3").exit_code, 1);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(60));
  const auto json = report();
  std::map<std::string, int> codes;
  for (const auto& test : json["tests"]) codes[test["name"]] = test["exit_code"];
  EXPECT_EQ(codes["backend"], 124);
  EXPECT_EQ(codes["memcheck"], 124) << "no time was left for it";
}

TEST_F(GpuCheck, APackRunsWithWhatItBrings) {
  if (run_program({"which", "ompi_info"}).exit_code != 0) {
    GTEST_SKIP() << "ompi_info is not installed";
  }
  const auto packed = run({script, "--bin", folder("bin"), "--pack", folder("pack")});
  ASSERT_EQ(packed.exit_code, 0) << packed.output;
  EXPECT_TRUE(fs::exists(folder("pack/lib") / "libstdc++.so.6"));
  const bool has_components = run_program({"sh", "-c",
                                           "ls \"$(ompi_info --parsable --path pkglibdir | "
                                           "sed s/^path:pkglibdir://)\"/mca_pml_ob1.so"})
                                  .exit_code == 0;
  EXPECT_EQ(fs::exists(folder("pack/lib/openmpi") / "mca_pml_ob1.so"), has_components);
  EXPECT_FALSE(fs::exists(folder("pack/lib") / "libc.so.6")) << "the machine's own";
  for (const char* file : {"beside_pytorch.py", "torch_steps.py", "torch_models.py"}) {
    EXPECT_TRUE(fs::exists(folder("pack/bench/gpu") / file)) << file;
  }

  put("cuda_test", "exit 1");  // not the one in the pack
  put("nccl_test", "exit 1");
  const auto ended = run({folder("pack/scripts") / "gpu-check"});
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  EXPECT_TRUE(fs::exists(folder("pack/build/gpu_check") / "gpu-check.json"));
}

TEST_F(GpuCheck, WhatDidNotRunIsNoSuccess) {
  put("compute_test", "echo '[  PASSED  ] 0 tests.'");
  EXPECT_EQ(check().exit_code, 1);
  const auto json = report();
  std::map<std::string, std::string> verdicts;
  for (const auto& test : json["tests"]) verdicts[test["name"]] = test["verdict"];
  EXPECT_EQ(verdicts["backend"], "FAILED");
  EXPECT_EQ(verdicts["cuda"], "passed");
}

TEST_F(GpuCheck, ABenchmarkThatEndsEarlyHasNoNumber) {
  put("bench_training", "echo 'bench_training: out of memory' >&2; exit 1");
  EXPECT_EQ(check().exit_code, 1);
  const auto json = report();
  ASSERT_EQ(json["benchmarks"].size(), 8U);
  for (const auto& bench : json["benchmarks"]) EXPECT_TRUE(bench["images_per_s"].is_null());
}

TEST_F(GpuCheck, WithoutTheSanitizerItSaysWhatIsLeftOut) {
  fs::remove(folder("bin") / "compute-sanitizer");
  EXPECT_EQ(check().exit_code, 0);
  EXPECT_THAT(report()["not_measured"].dump(), HasSubstr("compute-sanitizer"));
}

TEST_F(GpuCheck, WordsThatItDoesNotKnowAreRefused) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--fast"}, {"--out"}, {"--seconds", "soon"}}) {
    std::vector<std::string> command{script};
    command.insert(command.end(), words.begin(), words.end());
    EXPECT_EQ(run(command).exit_code, 2) << words.front();
  }
}

TEST_F(GpuCheck, AMissingProgramIsNamed) {
  fs::remove(folder("bin") / "cuda_test");
  const auto ended = check();
  EXPECT_EQ(ended.exit_code, 1);
  EXPECT_THAT(ended.output, HasSubstr("cuda_test is missing"));
}

TEST(GpuCheckScript, ShellcheckHasNothingToSay) {
  if (run_program({"which", "shellcheck"}).exit_code != 0) {
    GTEST_SKIP() << "shellcheck is not installed";
  }
  const auto ended = run_program({"shellcheck", script});
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
}

}  // namespace
}  // namespace dllaunch

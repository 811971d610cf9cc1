// bench/gpu/beside_pytorch.py: with programs of the test's own, whose numbers are known; and with
// the real ones on a CPU, where PyTorch is installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/json.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/tier.hpp"
#include "tests/trainer/training/run_program.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string scripts = std::string(DLLAUNCH_SOURCE_DIR) + "/bench/gpu/";
const std::string python = "/usr/bin/python3";  // whose PyTorch is Debian's

/// What a part has printed, sorted by what gpu-check does with it.
struct Told {
  int exit_code = 0;
  std::vector<Json> rows = {};
  std::vector<std::string> not_measured = {};
  std::string all = {};
};

Told told_by(const RunningProgram::Ended& ended) {
  Told told{.exit_code = ended.exit_code, .all = ended.output};
  std::istringstream lines(ended.output);
  const std::string missing = "not measured: ";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("{\"name\": \"")) told.rows.push_back(Json::parse(line));
    if (line.starts_with(missing)) told.not_measured.push_back(line.substr(missing.size()));
  }
  return told;
}

class BesidePyTorch : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(python)) GTEST_SKIP() << "no " << python;
    fs::create_directories(bin());
  }

  fs::path bin() const { return fs::path(all_.path()) / "bin"; }
  fs::path folder() const { return fs::path(all_.path()) / "out"; }

  void put(const std::string& program, const std::string& commands) const {
    std::ofstream(bin() / program)
        << "#!/bin/bash\necho \"$(basename $0) $*\" >>" << all_.path() << "/turns\n"
        << commands << "\n";
    fs::permissions(bin() / program, fs::perms::owner_all);
  }

  /// A Python whose PyTorch has two ways, with so many seconds a step.
  void put_torch(const std::string& graph, const std::string& compile,
                 const std::string& about = R"({"version": "9.1", "device": "GPU",
                                               "ways": ["eager", "graph", "compile"]})") const {
    put("torch", "case \"$*\" in *about) echo '" + without_newlines(about) + "' ;; *way=graph*) " +
                     graph + " ;; *way=compile*) " + compile + " ;; esac");
  }
  static std::string without_newlines(std::string text) {
    std::ranges::replace(text, '\n', ' ');
    return text;
  }
  /// Answers a number of steps with so many equal times.
  static std::string steps_of(const std::string& seconds) {
    return "while read -r n; do printf '{\"step_s\": [" + seconds +
           "'; for i in $(seq 2 $n); do printf ', " + seconds + "'; done; echo ']}'; done";
  }
  /// A dltrain that leaves events of steps 1 to max_steps, so many seconds apart.
  static std::string trains(const std::string& seconds) {
    return R"(run=$(dirname $2); n=$(sed 's/.*"max_steps": \([0-9]*\).*/\1/' $2); now=$(date +%s.%N)
              for i in $(seq $n); do echo "$i $now )" +
           seconds + R"(" | awk '{ printf "{\"event\": \"step\", ";
                  printf "\"step\": %d, \"time\": %.3f}\n", $1, $2 + $1 * $3 }'
              done >$run/events.jsonl)";
  }

  Told run(const std::string& part, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> argv{python,   scripts + "beside_pytorch.py",         part, bin(),
                                  folder(), "python=" + (bin() / "torch").string()};
    argv.insert(argv.end(), more.begin(), more.end());
    return told_by(run_program(argv));
  }

  /// Programs in the order in which they ran, `about` left out.
  std::vector<std::string> turns() const {
    std::vector<std::string> found;
    std::ifstream in(all_.path() + "/turns");
    for (std::string line; std::getline(in, line);) {
      std::string name = line.substr(0, line.find(' '));
      for (const std::string way : {"graph", "compile"}) {
        if (line.find("way=" + way) != std::string::npos) name = way;
      }
      if (!line.ends_with(" about")) found.push_back(name);
    }
    return found;
  }

  TemporaryFolder all_;
};

TEST_F(BesidePyTorch, TheRatioIsToTheFasterWay) {
  put("bench_training", steps_of("0.25"));
  put_torch(steps_of("0.5"), steps_of("0.3"));
  const Told told = run("steps");
  EXPECT_EQ(told.exit_code, 0) << told.all;
  ASSERT_EQ(told.rows.size(), 1U);
  const Json& row = told.rows[0];
  EXPECT_EQ(row["name"], "resnet50-224-bf16 / PyTorch");
  EXPECT_DOUBLE_EQ(row["value"], 0.3 / 0.25);
  EXPECT_DOUBLE_EQ(row["ours"], 256 / 0.25);
  EXPECT_DOUBLE_EQ(row["pytorch"]["graph"], 256 / 0.5);
  EXPECT_EQ(row["asked"], "at least 1.15");
  EXPECT_EQ(row["verdict"], "met");
  EXPECT_EQ(row["pytorch_version"], "9.1");
  EXPECT_TRUE(told.not_measured.empty()) << told.all;
  EXPECT_THAT(turns(),
              ElementsAre("bench_training", "graph", "compile", "bench_training", "compile"));
  EXPECT_THAT(told.all, HasSubstr("table: resnet50-224-bf16"));
}

TEST_F(BesidePyTorch, AFallShortIsSaidAndIsNoFailure) {
  put("bench_training", steps_of("0.25"));
  put_torch(steps_of("0.26"), steps_of("0.3"));
  const Told told = run("steps");
  EXPECT_EQ(told.exit_code, 0) << told.all;
  EXPECT_EQ(told.rows.at(0)["verdict"], "not met");
}

TEST_F(BesidePyTorch, AWayThatFailsOrHangsLeavesTheRatioOpen) {
  put("bench_training", steps_of("0.25"));
  for (const std::string broken :
       {"exit 3", "exec sleep 600", "echo Traceback", "echo '{\"step_s\": [0.1, 0.2]}'",
        "echo '{\"step_s\": [\"soon\"]}'", "echo '[1]'"}) {
    put_torch(steps_of("0.5"), broken);
    const Told told = run("steps", {"seconds=2"});
    EXPECT_EQ(told.exit_code, 1) << broken;
    ASSERT_EQ(told.rows.size(), 1U) << broken << told.all;
    EXPECT_DOUBLE_EQ(told.rows[0]["value"], 2) << broken;
    EXPECT_EQ(told.rows[0]["verdict"], "not settled") << "the faster way may be missing";
    ASSERT_EQ(told.not_measured.size(), 1U) << told.all;
    EXPECT_THAT(told.not_measured[0], HasSubstr("PyTorch's compile: steps (")) << broken;
  }
}

TEST_F(BesidePyTorch, WithoutItOursIsTold) {
  put("bench_training", steps_of("0.25"));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"version": "1.13", "device": "", "ways": ["eager"]})", "PyTorch 1.13 has no CUDA here"},
      {"Illegal instruction", "has no PyTorch"},
      {R"({"version": "1.13"})", "has no PyTorch"},
      {R"([])", "has no PyTorch"}};
  for (const auto& [about, why] : cases) {
    put_torch("exit 1", "exit 1", about);
    const Told told = run("steps");
    EXPECT_EQ(told.exit_code, 0) << about;
    ASSERT_EQ(told.rows.size(), 1U) << told.all;
    EXPECT_DOUBLE_EQ(told.rows[0]["ours"], 1024) << about;
    EXPECT_TRUE(told.rows[0]["value"].is_null() && told.rows[0]["verdict"].is_null()) << about;
    ASSERT_EQ(told.not_measured.size(), 1U) << about;
    EXPECT_THAT(told.not_measured[0], HasSubstr("PyTorch on the same GPU: steps (")) << about;
    EXPECT_THAT(told.not_measured[0], HasSubstr(why)) << about;
  }
}

TEST_F(BesidePyTorch, AnOldOneIsComparedByTheWayThatItHas) {
  put("bench_training", steps_of("0.25"));
  put_torch(steps_of("0.5"), "exit 1",
            R"({"version": "1.13", "device": "GPU", "ways": ["eager", "graph"]})");
  const Told told = run("steps");
  EXPECT_EQ(told.exit_code, 0) << told.all;
  EXPECT_EQ(told.rows.at(0)["verdict"], "met");
  EXPECT_THAT(told.not_measured, ElementsAre("torch.compile: steps (PyTorch 1.13 has none)"));
}

TEST_F(BesidePyTorch, WithoutOursThereIsNoRow) {
  put_torch(steps_of("0.5"), steps_of("0.3"));
  for (const char* broken : {"exit 1", "echo", "echo '{\"step_s\": [-1]}'"}) {
    put("bench_training", broken);
    const Told told = run("steps");
    EXPECT_EQ(told.exit_code, 1) << broken;
    EXPECT_TRUE(told.rows.empty()) << broken;
    EXPECT_THAT(told.not_measured.at(0), HasSubstr("ours: steps (")) << broken;
  }
}

TEST_F(BesidePyTorch, DataIsReadByBothFromTheSameFiles) {
  put("dltrain", trains("0.25"));
  put_torch(steps_of("0.4"), steps_of("0.5"));
  const Told told = run("data", {"images=1500"});
  EXPECT_EQ(told.exit_code, 0) << told.all;
  ASSERT_EQ(told.rows.size(), 1U) << told.all;
  EXPECT_EQ(told.rows[0]["name"], "resnet50v2-cifar10-128-bf16 / PyTorch");
  EXPECT_NEAR(told.rows[0]["value"], 1.6, 0.01);
  EXPECT_EQ(told.rows[0]["verdict"], "met");
  const fs::path file = folder() / "cifar10" / "data_batch_1.bin";
  EXPECT_EQ(fs::file_size(file), 1500U * 3073);
  EXPECT_THAT(turns(), ElementsAre("dltrain", "graph", "compile", "dltrain", "graph"));
  std::ifstream in(file, std::ios::binary);
  std::string records(1500 * 3073, '\0');
  in.read(records.data(), static_cast<std::streamsize>(records.size()));
  for (std::size_t i = 0; i < 1500; ++i) ASSERT_LT(records[i * 3073], 10) << "a label";
}

TEST_F(BesidePyTorch, TheFirstStepIsTimedFromTheStartOfTheProgram) {
  put("dltrain", trains("0.5"));  // the second event: 1 s after its start
  put_torch("exit 1", R"(sleep 3; echo "{\"time\": $(date +%s.%N)}")");
  const Told told = run("start", {"batch=1", "turns=1"});
  EXPECT_EQ(told.exit_code, 0) << told.all;
  ASSERT_EQ(told.rows.size(), 1U) << told.all;
  EXPECT_EQ(told.rows[0]["asked"], "at most 0.3");
  EXPECT_GE(told.rows[0]["ours"], 1);
  EXPECT_GE(told.rows[0]["pytorch"]["compile"], 3);
  EXPECT_GE(told.rows[0]["details"]["first_run_s"], 1);
  const double ratio =
      told.rows[0]["ours"].get<double>() / told.rows[0]["pytorch"]["compile"].get<double>();
  EXPECT_DOUBLE_EQ(told.rows[0]["value"], ratio);
  EXPECT_EQ(told.rows[0]["verdict"], ratio <= 0.3 ? "met" : "not met");
  put("dltrain", "true");
  EXPECT_EQ(run("start", {"turns=1"}).exit_code, 1) << "it left no events";
}

TEST_F(BesidePyTorch, CachesAreFilledForBothNetworks) {
  put_torch("exit 1", "true");
  const Told told = run("prepare");
  EXPECT_EQ(told.exit_code, 0) << told.all;
  EXPECT_THAT(turns(), ElementsAre("compile", "compile"));
  put_torch("exit 1", "exec sleep 600");
  EXPECT_EQ(run("prepare", {"seconds=1"}).exit_code, 1);
  put_torch("exit 1", "exit 1", R"({"version": "1.13", "device": "GPU", "ways": ["graph"]})");
  EXPECT_EQ(run("prepare").exit_code, 0) << "there is nothing to fill";
}

TEST_F(BesidePyTorch, WordsThatItDoesNotKnowAreRefused) {
  EXPECT_NE(run("steps", {"speed=1"}).exit_code, 0);
  EXPECT_NE(run("nothing").exit_code, 0);
}

/// dltrain, bench_training and PyTorch themselves, on a CPU.
class BesideRealPyTorch : public testing::Test {
 protected:
  void SetUp() override {
    if (!why_not().empty()) GTEST_SKIP() << why_not();
  }

  /// Empty: it runs here. Asked once: importing torch and compiling take seconds.
  static const std::string& why_not() {
    static const std::string why = [] {
      const auto about = run_program({python, scripts + "torch_steps.py", "about"});
      if (about.exit_code != 0)
        return "/usr/bin/python3 cannot import torch: scripts/install-deps --test";
      const auto compiled =
          run_program({python, "-c",
                       "import torch\nif hasattr(torch, 'compile'):\n"
                       "  torch.compile(lambda x: torch.relu(x) + 1)(torch.ones(64))"});
      return compiled.exit_code == 0
                 ? ""
                 : "torch.compile does not work here: python3-setuptools, libtorch-dev";
    }();
    return why;
  }

  Told run(const std::string& part) const {
    return told_by(
        run_program({"env",
                     "PYTHONDONTWRITEBYTECODE=1",
                     "OMP_NUM_THREADS=1",
                     python,
                     scripts + "beside_pytorch.py",
                     part,
                     DLLAUNCH_BIN_DIR,
                     all_.path(),
                     "python=" + python,
                     "device=cpu",
                     "precision=fp32",
                     "turns=1",
                     "batch=2",
                     "size=32",
                     "resized=40",
                     "classes=10",
                     "images=100",
                     "steps=1",
                     "data_steps=16",  // dltrain tells of steps a tenth of a second apart
                     "workers=1"}));
  }

  static void expect_both(const Told& told) {
    EXPECT_EQ(told.exit_code, 0) << told.all;
    ASSERT_EQ(told.rows.size(), 1U) << told.all;
    EXPECT_GT(told.rows[0]["ours"], 0);
    EXPECT_EQ(told.rows[0]["pytorch"].size(), 1U);
    EXPECT_GT(told.rows[0]["value"], 0);
    EXPECT_NE(told.rows[0]["verdict"], nullptr);
  }

  TemporaryFolder all_;
};

TEST_F(BesideRealPyTorch, StepsOfBothAreTimed) {
  expect_both(run("steps"));
}

/// Of the default tier, BesidePyTorch.DataIsReadByBothFromTheSameFiles has this with a PyTorch that
/// is none.
TEST_F(BesideRealPyTorch, BothTrainOnTheFiles) {
  if (!full_tier()) GTEST_SKIP() << "only with --full";
  expect_both(run("data"));
}

TEST_F(BesideRealPyTorch, TheFirstStepsOfBothAreTimed) {
  expect_both(run("start"));
}

TEST_F(BesideRealPyTorch, TheNetworksHaveOurNumberOfParameters) {
  // trainer/models/resnet50.cpp and resnet50v2.cpp name them; torch_networks_test.cpp compares
  // what the same classes compute.
  const std::vector<std::pair<std::string, int>> cases = {
      {"model=resnet50 classes=1000", 25557032}, {"model=resnet50v2 classes=10", 23539850}};
  for (const auto& [model, parameters] : cases) {
    const auto ended = run_program({"sh", "-c",
                                    "echo 1 | PYTHONDONTWRITEBYTECODE=1 " + python + " '" +
                                        scripts + "torch_steps.py' steps " + model +
                                        " batch=2 size=32 device=cpu precision=bf16"});
    EXPECT_EQ(ended.exit_code, 0) << ended.output;
    const std::size_t line = ended.output.rfind('{');
    ASSERT_NE(line, std::string::npos) << ended.output;
    const Json answer = Json::parse(ended.output.substr(line));
    EXPECT_EQ(answer["parameters"], parameters);
    EXPECT_EQ(answer["step_s"].size(), 1U);
    EXPECT_GT(answer["loss"], 0);
  }
}

TEST(BenchRoofline, CountsAStepAgainstCeilings) {
  const std::string program = std::string(DLLAUNCH_BIN_DIR) + "/bench_roofline";
  if (!fs::exists(program)) GTEST_SKIP() << "built without CUDA";
  const auto ended = run_program({program, "ceilings=1e15,2e12", "batch=1"});
  ASSERT_EQ(ended.exit_code, 0) << ended.output;
  const Json floor = Json::parse(ended.output);
  EXPECT_NEAR(floor["operations"], 2.430e10, 1e7) << "ResNet-50 of 224x224, both ways";
  EXPECT_DOUBLE_EQ(floor["bytes_per_s"], 2e12);
  EXPECT_NEAR(floor["floor_s"],
              floor["computing_s"].get<double>() + floor["moving_s"].get<double>(), 1e-9);
  EXPECT_GE(floor["floor_s"], floor["operations"].get<double>() / 1e15);
  for (const std::string wrong : {"ceilings=1e15", "ceilings=,", "ceilings=1,-2", "batch=0",
                                  "model=resnet51", "precision=fp64", "fast=yes", "batch"}) {
    EXPECT_EQ(run_program({program, wrong}).exit_code, 1) << wrong;
  }
}

}  // namespace
}  // namespace dllaunch

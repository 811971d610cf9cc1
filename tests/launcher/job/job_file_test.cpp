#include "launcher/job/job_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/golden.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

const fs::path jobs = fs::path(DLLAUNCH_SOURCE_DIR) / "tests/fixtures/jobs";

std::string read_text(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

ParsedJob parse(const std::string& text, const std::vector<std::string>& sets = {}) {
  return parse_job(text, "job.yaml", sets);
}

std::string name_of(const testing::TestParamInfo<fs::path>& info) {
  std::string name = info.param.stem();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class ValidJob : public testing::TestWithParam<fs::path> {};
TEST_P(ValidJob, HasNoProblem) {
  const auto parsed = parse_job(read_text(GetParam()), GetParam().filename(), {});
  EXPECT_EQ(render(parsed.problems, false), "");
  EXPECT_TRUE(parsed.job);
}
INSTANTIATE_TEST_SUITE_P(Files, ValidJob, testing::ValuesIn(files_in(jobs / "valid")), name_of);
INSTANTIATE_TEST_SUITE_P(Examples, ValidJob,
                         testing::ValuesIn(files_in(fs::path(DLLAUNCH_SOURCE_DIR) / "examples")),
                         name_of);

class InvalidJob : public testing::TestWithParam<fs::path> {};
TEST_P(InvalidJob, IsToldWhatIsWrong) {
  const auto parsed = parse_job(read_text(GetParam()), GetParam().filename(), {});
  EXPECT_FALSE(parsed.job);
  EXPECT_FALSE(parsed.problems.empty());
  EXPECT_TRUE(matches_golden("launcher/job_errors/" + GetParam().stem().string() + ".txt",
                             render(parsed.problems, false)));
}
INSTANTIATE_TEST_SUITE_P(Files, InvalidJob, testing::ValuesIn(files_in(jobs / "invalid")), name_of);

TEST(JobFile, BecomesATypedJob) {
  const auto parsed = parse(read_text(jobs / "valid/everything.yaml"));
  ASSERT_TRUE(parsed.job) << render(parsed.problems, false);
  const Job& job = *parsed.job;
  EXPECT_EQ(job.name, "übung 1: größer");
  EXPECT_EQ(job.resources.nodes, 2);
  EXPECT_EQ(job.resources.gpus_per_node, 4);
  EXPECT_EQ(job.resources.cpus_per_rank, 7);
  EXPECT_EQ(job.resources.time, "1-12:00:00");
  EXPECT_EQ(job.resources.account, "12345");
  EXPECT_FALSE(job.resources.exclusive);
  EXPECT_EQ(job.resources.sbatch_extra, (std::vector<std::string>{"--mail-type=END", "-H"}));
  EXPECT_EQ(job.environment.variables,
            (std::vector<std::pair<std::string, std::string>>{{"OMP_NUM_THREADS", "7"},
                                                              {"DEBUG", "yes"},
                                                              {"RATE", "1.50"},
                                                              {"ON", "true"},
                                                              {"TEXT", "a b'c\"$d"}}));
  EXPECT_EQ(job.environment.setup, "ulimit -l unlimited\necho \"ready\"\n");
  EXPECT_EQ(job.binding.policy, BindPolicy::explicit_masks);
  EXPECT_EQ(job.binding.reserve, "0,8");
  EXPECT_EQ(job.binding.masks, (std::vector<IdSet>{IdSet::range(1, 7), IdSet::range(9, 15)}));
  EXPECT_EQ(job.run_command,
            (std::vector<std::string>{"python", "train.py", "--epochs", "3", "--lr", "1e-3"}));
  EXPECT_TRUE(job.train.is_null());
  EXPECT_EQ(job.runtime["bucket_mb"], 12.5);
  EXPECT_EQ(job.runtime["compression"], "bf16");
  EXPECT_EQ(job.runtime["gradient_lag"], 1);
  EXPECT_EQ(job.runtime["timeline"], true);
  EXPECT_EQ(job.recovery.signal, "USR1");
  EXPECT_EQ(job.recovery.grace_seconds, 300);
}

TEST(JobFile, HasTheDefaultsOfTheContract) {
  const auto parsed = parse("name: a\ntrain: {model: cnn}");
  ASSERT_TRUE(parsed.job) << render(parsed.problems, false);
  const Job& job = *parsed.job;
  EXPECT_EQ(job.resources.nodes, 1);
  EXPECT_EQ(job.resources.gpus_per_node, std::nullopt);
  EXPECT_EQ(job.resources.time, std::nullopt);
  EXPECT_TRUE(job.resources.exclusive);
  EXPECT_EQ(job.binding.policy, BindPolicy::closest);
  EXPECT_EQ(job.binding.cores, BindCores::automatic);
  EXPECT_EQ(job.binding.reserve, "auto");
  EXPECT_EQ(job.recovery.signal, "USR2");
  EXPECT_EQ(job.train["batch_size"], 32);
  EXPECT_EQ(job.train["dataset"]["kind"], "fashion-mnist");
  EXPECT_TRUE(job.run_command.empty());
  const auto runtime = Json::parse(
      R"({"allreduce": "auto", "transport": "auto", "bucket_mb": "auto", "overlap": true,
                      "compression": "none", "gradient_lag": 0, "stall_seconds": 60,
                      "stall_abort_seconds": 600, "timeline": false,
                      "pipeline": {"stages": 1, "cut": null}, "split_dense": [],
                      "integrity": {"every_steps": null}})");
  EXPECT_EQ(job.runtime, runtime);
  EXPECT_EQ(job.resolved.dump().substr(0, 45), R"({"name":"a","cluster":"auto","resources":{"no)");
}

TEST(JobFile, ResolvesToItself) {
  for (const auto& path : files_in(jobs / "valid")) {
    const auto once = parse(read_text(path));
    ASSERT_TRUE(once.job) << path;
    const auto twice = parse(once.job->resolved.dump(2));
    ASSERT_TRUE(twice.job) << path << render(twice.problems, false);
    EXPECT_EQ(once.job->resolved, twice.job->resolved) << path;
  }
}

TEST(JobFile, ReadsATextForTheShellAndAListWordByWord) {
  EXPECT_EQ(parse("name: a\nrun: echo $X | cat").job->run_command,
            (std::vector<std::string>{"bash", "-eo", "pipefail", "-c", "echo $X | cat"}));
  EXPECT_EQ(parse("name: a\nrun: [a b, \"\"]").job->run_command,
            (std::vector<std::string>{"a b", ""}));
}

TEST(JobFile, NullTakesAVariableOut) {
  const auto parsed =
      parse("name: a\nrun: b\nenvironment: {variables: {CUDA_DEVICE_ORDER: null, A: ''}}");
  ASSERT_TRUE(parsed.job);
  const auto& environment = parsed.job->environment;
  EXPECT_EQ(environment.left_alone, std::vector<std::string>{"CUDA_DEVICE_ORDER"});
  EXPECT_EQ(environment.variables, (std::vector<std::pair<std::string, std::string>>{{"A", ""}}));
}

TEST(JobFile, TakesTimesAsSlurmDoes) {
  for (const char* time : {"30", "90:00", "00:30:00", "25:00:00", "1-0", "2-12", "2-12:30",
                           "2-12:30:15", "0", "'30'"}) {
    const auto parsed = parse(std::string("name: a\nrun: b\nresources: {time: ") + time + "}");
    ASSERT_TRUE(parsed.job) << time;
    EXPECT_EQ(*parsed.job->resources.time, std::string(time) == "'30'" ? "30" : time);
  }
  for (const char* time :
       {"-5", "1:2:3:4", "1x", "1-", "10:75", "1.5", "0x10", "2-1:2:3:4", "''"}) {
    EXPECT_FALSE(parse(std::string("name: a\nrun: b\nresources: {time: ") + time + "}").job)
        << time;
  }
}

/// Whatever backends the build has.
TEST(JobFile, TellsWhatTheTrainerWouldRefuseAfterTheQueue) {
  const auto said = [](const std::string& keys) {
    return render(parse("name: a\ntrain: {model: lenet" + keys + "}\n").problems, false);
  };
  const std::string scaled =
      said(", precision: fp16}\nruntime: {compression: bf16, gradient_lag: 1");
  EXPECT_NE(scaled.find("runtime.compression: not supported with precision fp16"),
            std::string::npos)
      << scaled;
  EXPECT_NE(scaled.find("runtime.gradient_lag: not supported with precision fp16"),
            std::string::npos)
      << scaled;
  const std::string on_gpu =
      said("}\nruntime: {allreduce: nccl, compression: fp16, gradient_lag: 1");
  for (const char* key : {"compression", "gradient_lag"}) {
    EXPECT_NE(on_gpu.find(std::string("runtime.") + key + " needs gradients on the host"),
              std::string::npos)
        << on_gpu;
  }
  const std::string doubles = said(", precision: fp64}\nruntime: {allreduce: nccl");
  EXPECT_NE(doubles.find("runtime.allreduce nccl reduces memory of GPUs"), std::string::npos)
      << doubles;
  EXPECT_EQ(said("}\nruntime: {compression: fp16, gradient_lag: 1"), "");
}

TEST(JobFile, OverridesKeysBeforeItChecks) {
  const std::string text = "name: a\nresources: {nodes: -1}\ntrain: {model: cnn}\n";
  const auto parsed = parse(text, {"resources.nodes=4", "train.optimizer={lr: 0.5}",
                                   "train.optimizer.momentum=0.9", "name=b"});
  ASSERT_TRUE(parsed.job) << render(parsed.problems, false);
  EXPECT_EQ(parsed.job->resources.nodes, 4);
  EXPECT_EQ(parsed.job->train["optimizer"]["lr"], 0.5);
  EXPECT_EQ(parsed.job->train["optimizer"]["momentum"], 0.9);
  EXPECT_EQ(parsed.job->name, "b");
  EXPECT_TRUE(parse(text, {"resources.nodes=1", "train=null", "run=hostname"}).job);
}

TEST(JobFile, PointsIntoTheOverrideThatIsWrong) {
  const auto parsed = parse("name: a\ntrain: {model: cnn}\n",
                            {"train.epochs=3", "train.epochz=many", "resources.nodes=two",
                             "nonsense", "runtime.bucket_mb=[", "name.first=x"});
  EXPECT_TRUE(matches_golden("launcher/override_errors.txt", render(parsed.problems, false)));
}

TEST(JobFile, WithoutANameIsCalledAsItsFile) {
  const auto name = [](const std::string& file) {
    const auto parsed = parse_job("run: hostname\n", file, {});
    return parsed.job ? parsed.job->name : render(parsed.problems, false);
  };
  EXPECT_EQ(name("jobs/resnet.v2.yaml"), "resnet.v2");
  EXPECT_EQ(name("50.yaml"), "50") << "a number is a name too";
  EXPECT_EQ(name(".yaml"), "job");
  EXPECT_EQ(name("a\nb\x80.yaml"), "a-b-");
  EXPECT_EQ(name(std::string(250, 'x') + ".yaml").size(), 200u);
  const auto modular =
      parse_job("components: [{name: a, run: x}, {name: b, run: y}]\n", "two.yaml", {});
  ASSERT_TRUE(modular.job) << render(modular.problems, false);
  EXPECT_EQ(modular.job->name, "two");
  EXPECT_EQ(modular.job->components.at(1).job.name, "two-b");
}

TEST(JobFile, NamesComeFromFiles) {
  EXPECT_EQ(stem_of("a/b.c/train.py"), "train");
  EXPECT_EQ(stem_of("run"), "run");
  EXPECT_EQ(stem_of(""), "job");
  EXPECT_EQ(stem_of(".py"), "job");
}

}  // namespace
}  // namespace dllaunch

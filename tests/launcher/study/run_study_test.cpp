#include "launcher/study/run_study.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/launcher/disk_system.hpp"
#include "tests/support/temporary_folder.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

/// Prepares studies on a machine of four cores without Slurm.
class RunStudy : public testing::Test {
 protected:
  RunStudy() {
    system_.node = *synthetic_topology("cores:4");
    system_.programs = {"echo"};
    for (auto at = std::filesystem::current_path(); at != at.parent_path(); at = at.parent_path())
      system_.folders.insert(at.string());
    system_.folders.insert("/");
  }

  StudyRequest request(const std::string& job) {
    const auto file = folder_.path() + "/job.yaml";
    std::ofstream(file) << job;
    return {.job_file = file,
            .wanted = {.ranks = {1, 2}},
            .local = true,
            .dir = folder_.path() + "/study"};
  }
  std::string problem(const StudyRequest& request) {
    const auto prepared = prepare_study(system_, request);
    return prepared ? "none" : prepared.error().what + " (" + prepared.error().hint + ")";
  }

  const TemporaryFolder folder_;
  DiskSystem system_;
};

constexpr const char* command =
    "name: a\nresources: {device: cpu, ranks_per_node: 2}\n"
    "run: [echo, x]\n";

TEST_F(RunStudy, RepeatsComeAfterAllSizes) {
  auto wanted = request(std::string(command) + "study: {value: '([0-9]+)', unit: items/s}\n");
  wanted.repeats = 2;
  const auto prepared = prepare_study(system_, wanted);
  ASSERT_TRUE(prepared) << prepared.error().what;
  std::string order;
  for (const auto& run : prepared->study.runs) order += run.run + " ";
  EXPECT_EQ(order,
            "ranks-00002-repeat-01 ranks-00001-repeat-01 ranks-00002-repeat-02 "
            "ranks-00001-repeat-02 ");
  EXPECT_EQ(prepared->study.unit, "items/s");
}

TEST_F(RunStudy, SaysWhatIsMissing) {
  EXPECT_THAT(problem(request(command)), HasSubstr("what a study of its run: measures (study:"));
  EXPECT_THAT(problem(request(std::string(command) + "study: {value: '('}\n")),
              HasSubstr("study.value: '(' is not a regular expression"));
  EXPECT_THAT(problem(request(std::string(command) + "array: 0-3\nstudy: {value: x}\n")),
              HasSubstr("job array"));
  auto exchanges = request(std::string(command) + "study: {value: x}\n");
  exchanges.allreduce = exchanges.job_file;
  EXPECT_THAT(problem(exchanges), HasSubstr("--allreduce needs train: in the job file"));
}

/// Before hours of runs that the measurement does not fit.
TEST_F(RunStudy, RefusesAnAllReduceOfAnotherCommunicatorThanTheJobFiles) {
  system_.programs.insert({"mpirun", "dltrain"});
  auto wanted = request(
      "name: a\nresources: {device: cpu, ranks_per_node: 2}\nruntime: {allreduce: ring}\n"
      "train: {model: lenet, dataset: {kind: synthetic}, batch_size: 16}\n");
  wanted.allreduce = folder_.path() + "/allreduce.json";
  const auto measure = [&](const std::string& name) {
    std::ofstream(wanted.allreduce)
        << R"([{"backend": ")" << name << R"(", "ranks": 2, "bytes": 4, "us": 50, "nodes": 1,)"
        << R"( "models": [{"alpha_us": 1, "beta_gbs": 1}]}])";
  };
  measure("mpi");
  EXPECT_THAT(problem(wanted),
              HasSubstr("the runs reduce by ring, but mpi was measured (measure with dllaunch "
                        "bench allreduce --communicator ring --json)"));
  measure("ring");
  EXPECT_EQ(problem(wanted), "none");
  measure("mpi");
  wanted.sets = {"runtime.allreduce=auto"};
  EXPECT_EQ(problem(wanted), "none") << "which one it takes is known once the ranks run";
}

TEST_F(RunStudy, TakesWhatAnEarlierExecutionMeasured) {
  const auto wanted = request(std::string(command) + "study: {value: x}\n");
  auto prepared = prepare_study(system_, wanted);
  ASSERT_TRUE(prepared);
  prepared->study.runs[1].value = 7;
  ASSERT_EQ(mkdir(wanted.dir.c_str(), 0700), 0);
  ASSERT_TRUE(write_study(wanted.dir, prepared->study, result_of(prepared->study)));
  const auto again = prepare_study(system_, wanted);
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(again->study.runs[1].value, 7);
  EXPECT_FALSE(again->study.runs[0].value);
  auto fewer = wanted;
  fewer.wanted.ranks = {2};
  const auto kept = prepare_study(system_, fewer);
  ASSERT_TRUE(kept) << kept.error().what;
  ASSERT_EQ(kept->study.runs.size(), 2u) << "what is not asked for now stays";
  EXPECT_EQ(kept->study.runs[1].value, 7);
  auto other = wanted;
  other.sets = {"run=echo y"};
  EXPECT_THAT(problem(other), HasSubstr("holds a study of another job file"));
  auto weak = wanted;
  weak.wanted.scaling = Scaling::weak;
  EXPECT_THAT(problem(weak), HasSubstr("of other scaling"));
  std::ofstream(wanted.dir + "/study.json") << "damaged";
  EXPECT_THAT(problem(wanted), HasSubstr("study.json that is damaged"));
  std::ofstream(wanted.dir + "/plan.json") << "{}";
  EXPECT_THAT(problem(wanted), HasSubstr("is a run's"));
}

TEST_F(RunStudy, WritesEveryFile) {
  Study study{.name = "a"};
  ASSERT_TRUE(write_study(folder_.path(), study, result_of(study)));
  for (const char* name :
       {"study.json", "study.csv", "study.html", "throughput.svg", "efficiency.svg"})
    EXPECT_TRUE(std::ifstream(folder_.path() + "/" + name).good()) << name;
  EXPECT_FALSE(write_study("/nowhere", study, result_of(study)));
}

}  // namespace
}  // namespace dllaunch

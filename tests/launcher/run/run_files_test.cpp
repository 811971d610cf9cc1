#include "launcher/run/run_files.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launcher/job/job_file.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/os/posix_system.hpp"
#include "launcher/plan/modular_plan.hpp"
#include "launcher/plan/plan.hpp"
#include "support/json.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

constexpr const char* job_text =
    "name: x\nresources: {ranks_per_node: 2, time: 00:30:00}\n"
    "train: {model: cnn, dataset: {kind: synthetic}, batch_size: 8}\n";

Job job_with(const std::vector<std::string>& sets) {
  const auto parsed = parse_job(job_text, "x.yaml", sets);
  EXPECT_TRUE(parsed.job) << render(parsed.problems, false);
  return parsed.job.value_or(Job{});
}

class RunFilesTest : public testing::Test {
 protected:
  RunFilesTest() {
    plan_.ranks_per_node = 2;
    std::filesystem::create_directories(run_.out());
  }

  Result<Ok> check(const Job& job) {
    run_.resumed = true;
    return check_same_job(system_, run_, job, plan_);
  }

  TemporaryFolder folder_;
  RunDir run_{.path = folder_.path()};
  LaunchPlan plan_;
  PosixSystem system_{Console{}};
};

TEST_F(RunFilesTest, AComponentRunsWithItsWhole) {
  const auto whole = folder_.path() + "/whole";
  RunDir component{.path = whole + "/components/b"};
  std::filesystem::create_directories(component.out());
  EXPECT_TRUE(check_same_job(system_, component, job_with({}), plan_)) << "no run is around it";
  std::ofstream(whole + "/plan.json") << "{}";
  const auto refused = check_same_job(system_, component, job_with({}), plan_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().hint, "dllaunch run " + whole);
}

TEST_F(RunFilesTest, TheStoredJobReadsBackTheSame) {
  const Job job = job_with({});
  ASSERT_TRUE(write_run_files(run_, job, plan_));
  const auto text = system_.read_file(run_.job_yaml());
  ASSERT_TRUE(text);
  const auto again = parse_job(*text, "job.yaml", {});
  ASSERT_TRUE(again.job) << render(again.problems, false);
  EXPECT_EQ(again.job->resolved, job.resolved);
  EXPECT_FALSE(again.job->recovery.written);
  ASSERT_TRUE(write_run_files(run_, job_with({"recovery.signal=USR1"}), plan_));
  const auto asks = parse_job(*system_.read_file(run_.job_yaml()), "job.yaml", {});
  EXPECT_TRUE(asks.job->recovery.written);
  EXPECT_FALSE(std::filesystem::exists(run_.sbatch_script()));
}

TEST_F(RunFilesTest, WritesWhatIsExecuted) {
  plan_.train_json = "{}\n";
  ASSERT_TRUE(write_run_files(run_, job_with({}), plan_));
  EXPECT_EQ(*system_.read_file(run_.train_json()), "{}\n");
  const auto text = system_.read_file(run_.plan_json());
  ASSERT_TRUE(text);
  EXPECT_EQ(Json::parse(*text)["ranks"], 2);
}

// A component's own script writes it when it starts; until then the whole's counts.
TEST_F(RunFilesTest, AComponentForgetsItsEarlierJob) {
  Job job;
  job.components = {{"a", false, job_with({})}};
  ModularPlan plan{.whole = plan_, .components = {{"a", false, plan_}}};
  plan.whole.launcher = Launcher::slurm;
  const RunDir component{.path = component_dir(run_.path, "a")};
  std::filesystem::create_directories(component.path);
  std::ofstream(component.job_id()) << "12\n";
  ASSERT_TRUE(write_run_files(run_, job, plan));
  EXPECT_TRUE(std::filesystem::exists(component.job_yaml()));
  EXPECT_FALSE(std::filesystem::exists(component.job_id()));
}

TEST_F(RunFilesTest, CopiesAreNoWiderThanTheJobFile) {
  const auto shared = make_run_dir(run_.path + "/shared");
  ASSERT_TRUE(shared && share_run_dir(*shared, /*share=*/true));
  const auto file = run_.path + "/mine.yaml";
  std::ofstream(file) << "name: x\n";
  plan_.launcher = Launcher::slurm;
  plan_.train_json = "{}\n";
  using std::filesystem::perms;
  for (const auto group : {perms::none, perms::group_read}) {
    std::filesystem::permissions(file, perms::owner_read | perms::owner_write | group);
    ASSERT_TRUE(write_run_files(*shared, job_with({}), plan_, readers_of(file)));
    for (const auto& copy :
         {shared->job_yaml(), shared->train_json(), shared->plan_json(), shared->sbatch_script()})
      EXPECT_EQ(std::filesystem::status(copy).permissions() & perms::group_all, group) << copy;
  }
  EXPECT_EQ(readers_of(run_.path + "/none"), Readers::none);
}

TEST_F(RunFilesTest, TheSameJobMayGoOnForLonger) {
  ASSERT_TRUE(write_run_files(run_, job_with({}), plan_));
  EXPECT_TRUE(check(job_with({})));
  EXPECT_TRUE(check(job_with({"train.epochs=9", "resources.time=01:00:00", "name=y"})));
}

TEST_F(RunFilesTest, AnotherJobIsRefusedByTheKeysThatDiffer) {
  ASSERT_TRUE(write_run_files(run_, job_with({}), plan_));
  plan_.ranks_per_node = 4;
  const auto refused = check(job_with({"train.batch_size=16", "train.seed=2"}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::bad_request);
  for (const char* part : {"train.batch_size: 8 -> 16", "train.seed: 1 -> 2", "ranks: 2 -> 4"}) {
    EXPECT_NE(refused.error().what.find(part), std::string::npos) << refused.error().what;
  }
}

TEST_F(RunFilesTest, AFolderWithSomethingElseIsRefused) {
  ASSERT_TRUE(write_file(run_.job_yaml(), "hello: world\n"));
  EXPECT_FALSE(check(job_with({})));
}

}  // namespace
}  // namespace dllaunch

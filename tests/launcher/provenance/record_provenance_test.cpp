#include "launcher/provenance/record_provenance.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "launcher/plan/plan.hpp"
#include "tests/launcher/disk_system.hpp"
#include "tests/launcher/provenance/git_repository.hpp"
#include "tests/launcher/sample_plans.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class RecordProvenance : public testing::Test {
 protected:
  RecordProvenance() { write("job.yaml", "name: a # as written\n"); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() + "/" + name) << text;
  }
  void record(System& system, const Job& job, const std::string& job_file) {
    record_provenance(system, run_, job, planned(job, small_cluster()),
                      {.job_file = job_file,
                       .sets = {"environment.variables.HF_TOKEN=abc", "train.seed=2"},
                       .variables = {"OMP_NUM_THREADS", "HOME", "SLURM_JWT"}});
  }
  Provenance kept(System& system) { return *read_provenance(system, run_); }

  const TemporaryFolder folder_;
  const RunDir run_{.path = folder_.path()};
};

TEST_F(RecordProvenance, WithoutGitPythonOrMpiIsWhatIsKnown) {
  DiskSystem system;
  system.variables["OMP_NUM_THREADS"] = "4";
  system.variables["SLURM_JWT"] = "abc";
  EXPECT_TRUE(kept(system).submissions.empty());
  auto job = train_job();
  job.resolved = {{"train", {{"seed", 7}}}};
  record(system, job, folder_.path() + "/job.yaml");
  const auto one = kept(system).submissions.at(0);
  EXPECT_EQ(one.host, "localhost");
  EXPECT_EQ(one.code, std::nullopt);
  EXPECT_EQ(one.python, std::nullopt);
  EXPECT_EQ(one.variables.at("OMP_NUM_THREADS"), "4");
  EXPECT_EQ(one.left_out, std::vector<std::string>{"SLURM_JWT"});
  EXPECT_EQ(one.seeds.at("train.seed"), "7");
  EXPECT_THAT(text_of(folder_.path() + "/provenance.json"), Not(HasSubstr("abc")));
  EXPECT_EQ(system.logged, "");
}

TEST_F(RecordProvenance, ASecondStartIsAddedAndKeepsTheGivenFile) {
  DiskSystem system;
  const TemporaryFolder elsewhere;
  const auto given = elsewhere.path() + "/given.yaml";
  std::ofstream(given) << "name: a # as written\n";
  record(system, train_job(), given);
  record(system, train_job(), run_.job_yaml());
  const auto all = kept(system);
  ASSERT_EQ(all.submissions.size(), 2u);
  EXPECT_EQ(all.submissions[0].job_file, given);
  EXPECT_EQ(text_of(folder_.path() + "/job.given.yaml"), "name: a # as written\n");
  struct stat file {};
  ASSERT_EQ(stat((folder_.path() + "/provenance.json").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u) << "no more users read it than the job file";
}

TEST_F(RecordProvenance, ADamagedRecordIsSaidAndBeginsAnew) {
  DiskSystem system;
  write("provenance.json", "{\"submissions\":");
  EXPECT_FALSE(read_provenance(system, run_));
  record(system, train_job(), "/dev/null");
  EXPECT_EQ(kept(system).submissions.size(), 1u);
  EXPECT_THAT(system.logged, HasSubstr("provenance.json is damaged: it begins anew"));
  EXPECT_FALSE(fs::exists(folder_.path() + "/job.given.yaml"));
}

TEST_F(RecordProvenance, OfADirtyRepositoryHasTheDiffWhereTheJobWantsIt) {
  if (!has_git()) GTEST_SKIP() << "no git";
  GitRepository repository;
  repository.write("train.py", "one\n");
  repository.write("job.yaml", "name: a\n");
  repository.commit();
  repository.write("train.py", "two\n");
  auto job = train_job();
  const auto given = repository.path() + "/job.yaml";
  record(repository.system, job, given);
  EXPECT_FALSE(fs::exists(folder_.path() + "/code.diff"));
  job.keeps_diff = true;
  record(repository.system, job, given);
  EXPECT_THAT(text_of(folder_.path() + "/code.diff"), HasSubstr("+two"));
  repository.commit();
  record(repository.system, job, given);
  EXPECT_FALSE(fs::exists(folder_.path() + "/code.diff")) << "it would be an earlier start's";
  const auto all = kept(repository.system);
  EXPECT_EQ(all.submissions[0].code->dirty, true);
  EXPECT_GT(all.submissions[1].code->diff_bytes, 0);
  EXPECT_EQ(all.submissions[2].code->dirty, false);
  EXPECT_NE(all.submissions[2].code->revision, all.submissions[1].code->revision);
}

TEST_F(RecordProvenance, NothingThatFailsStopsARun) {
  DiskSystem system;
  fs::create_directories(folder_.path() + "/provenance.json/in the way");
  fs::create_directories(folder_.path() + "/job.given.yaml/in the way");
  const TemporaryFolder elsewhere;
  std::ofstream(elsewhere.path() + "/given.yaml") << "name: a\n";
  record(system, run_job(), elsewhere.path() + "/given.yaml");
  EXPECT_THAT(system.logged, HasSubstr("cannot write"));
}

}  // namespace
}  // namespace dllaunch

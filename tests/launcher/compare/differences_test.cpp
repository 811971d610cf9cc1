#include "launcher/compare/differences.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/launcher/compare/compared_runs.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;
using testing::Optional;

const DifferenceGroup& group_in(const std::vector<DifferenceGroup>& groups, std::string_view id) {
  for (const auto& group : groups)
    if (group.id == id) return group;
  throw std::out_of_range(std::string(id));
}

std::vector<Difference> rows_of(std::vector<ComparedRun> runs, std::string_view id) {
  return group_in(differences_of(runs), id).rows;
}

TEST(Differences, OfEqualRunsAreNone) {
  const std::vector<ComparedRun> runs(3, trained("a", 8, 4));
  const auto groups = differences_of(runs);
  EXPECT_EQ(groups.size(), 7u);
  for (const auto& group : groups) EXPECT_TRUE(group.rows.empty()) << group.id;
}

TEST(Differences, OfJobFilesAreByPath) {
  const auto rows = rows_of({trained("a", 8, 4), trained("b", 8, 3)}, "job");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "name");
  EXPECT_EQ(rows[1].name, "train.optimizer.lr");
  EXPECT_THAT(rows[1].values,
              ElementsAre(Optional(std::string("0.5")), Optional(std::string("1.0"))));
}

TEST(Differences, ABlockThatOneLacksIsOneRow) {
  auto other = trained("a", 8, 4);
  other.job = {{"name", "a"}, {"train", nullptr}, {"run", Json::array({"./x", "1"})}};
  const auto rows = rows_of({trained("a", 8, 4), other}, "job");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "train");
  EXPECT_EQ(rows[0].values[0], R"({"seed":1,"optimizer":{"lr":0.5}})");
  EXPECT_EQ(rows[1].values[0], "");
  EXPECT_EQ(rows[1].values[1], R"(["./x","1"])");
}

TEST(Differences, SecretsNeverShow) {
  auto one = trained("a", 8, 4);
  auto other = one;
  one.job["environment"] = {{"variables", {{"HF_TOKEN", "abc"}, {"URL", "s3://me:abc@h/x"}}}};
  other.job["environment"] = {{"variables", {{"HF_TOKEN", "abcd"}, {"URL", "s3://me:abc@h/y"}}}};
  const auto rows = rows_of({one, other}, "job");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].values[0], "(left out)");
  EXPECT_EQ(rows[0].values[1], "(left out)");
  EXPECT_EQ(rows[1].values[0], "s3://(left out)@h/x");
  other.job["environment"] = nullptr;
  for (const auto& row : rows_of({one, other}, "job"))
    for (const auto& value : row.values) EXPECT_EQ(value->find("abc"), std::string::npos);
}

TEST(Differences, OfCodeAndEnvironment) {
  std::vector<ComparedRun> runs(2, trained("a", 8, 4));
  auto& origin = *runs[1].origin;
  origin.code->dirty = true;
  origin.variables = {
      {"OMP_NUM_THREADS", "4"}, {"SLURM_JOB_ID", "17"}, {"SLURM_JOB_NODELIST", "n1"}};
  origin.versions = {{"NCCL", "2.21.5"}};
  const PythonState python{.version = "3.11", .packages = {{"torch", "2.4"}, {"numpy", "2.0"}}};
  runs[0].origin->python = origin.python = python;
  origin.python->version = "3.12";
  origin.python->packages["torch"] = "2.5";
  origin.seeds = {{"train.seed", "3"}};
  origin.host = "login2";
  runs[1].hosts = "n[1-2]";
  runs[1].hardware = "4 x A100";
  runs[1].code_diff = "+a\n";
  const auto groups = differences_of(runs);
  const auto names = [&](std::string_view id) {
    std::vector<std::string> all;
    for (const auto& row : group_in(groups, id).rows) all.push_back(row.name);
    return all;
  };
  EXPECT_THAT(names("code"), ElementsAre("uncommitted changes", "code.diff"));
  EXPECT_THAT(names("variables"), ElementsAre("OMP_NUM_THREADS"));
  EXPECT_THAT(names("versions"), ElementsAre("Python", "NCCL"));
  EXPECT_THAT(names("packages"), ElementsAre("torch"));
  EXPECT_THAT(names("seeds"), ElementsAre("train.seed"));
  EXPECT_THAT(names("places"), ElementsAre("nodes", "hardware of a node", "submitted from"));
  EXPECT_EQ(group_in(groups, "code").rows[1].values[1], "1: 1 line");
}

TEST(Differences, ARunWithoutPythonLacksNoPackages) {
  std::vector<ComparedRun> runs(2, trained("a", 8, 4));
  runs[1].origin->python = PythonState{.version = "3.11", .packages = {{"torch", "2.4"}}};
  EXPECT_TRUE(rows_of(runs, "packages").empty());
  EXPECT_EQ(rows_of(runs, "versions").at(0).name, "Python");
}

TEST(Differences, WhatDidNotAnswerIsUnknown) {
  std::vector<ComparedRun> runs(2, trained("a", 8, 4));
  for (auto& run : runs)
    run.origin->python = PythonState{.version = "3.11", .packages = {{"torch", "2.4"}}};
  runs[1].origin->python = PythonState{.why = "it took longer than 5 s"};
  EXPECT_TRUE(rows_of(runs, "packages").empty());
  EXPECT_THAT(rows_of(runs, "versions").at(0).values, ElementsAre("3.11", "unknown"));
  runs[1].origin->code = CodeState{.folder = "/a", .why = "it took longer than 2 s"};
  EXPECT_TRUE(rows_of(runs, "code").empty());
}

TEST(Differences, EqualChangesOfTheCodeHaveOneNumber) {
  std::vector<ComparedRun> runs(3, trained("a", 8, 4));
  runs[0].code_diff = runs[2].code_diff = "+a\n";
  runs[1].code_diff = "+b\n+c\n";
  const auto rows = rows_of(runs, "code");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].values[0], "1: 1 line");
  EXPECT_EQ(rows[0].values[1], "2: 2 lines");
  EXPECT_EQ(rows[0].values[2], "1: 1 line");
}

TEST(Differences, WhatARunDoesNotSayIsNoDifference) {
  std::vector<ComparedRun> runs(3, trained("a", 8, 4));
  runs[1].origin.reset();
  runs[1].job = nullptr;
  EXPECT_TRUE(rows_of(runs, "code").empty());
  EXPECT_TRUE(rows_of(runs, "job").empty());
  runs[2].origin->code->branch = "other";
  const auto rows = rows_of(runs, "code");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].values[1], std::nullopt);
  EXPECT_EQ(rows[0].values[2], "other");
}

}  // namespace
}  // namespace dllaunch

#include "launcher/presubmit/before_queue.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/launcher/sample_plans.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

/// A login node where all is well; sbatch --test-only answers `said`.
FakeWorld login_node(CommandOutput said) {
  FakeWorld world;
  world.folders = {"/", "/scratch/me", "/home/me/project"};
  world.programs = {"python3", "sbatch"};
  world.files["/home/me/project/train.py"] = "";
  world.paths["/opt/dllaunch/bin/dllaunch"] = {.exists = true, .executable = true};
  world.answers["id -un"] = {0, "alice\n", ""};
  world.answers["id -Gn"] = {0, "alice users\n", ""};
  world.answers["scontrol --oneliner show reservation"] = {0, "No reservations in the system\n",
                                                           ""};
  world.respond =
      [said](const std::vector<std::string>& argv) -> std::optional<Result<CommandOutput>> {
    if (argv[0] == "sbatch") return said;
    return std::nullopt;
  };
  return world;
}

const CommandOutput starts{
    0, "",
    "sbatch: Job 5 to start at 2026-11-21T11:22:45 using 4 processors on nodes n[1-2] in partition "
    "batch\n"};

QueueReport report_on(const Job& job, FakeWorld& world, Facts facts = small_cluster()) {
  const auto made = plan(job, facts, sample_paths(), false);
  return check_before_queue(job, facts, sample_paths(), made, false, world);
}

TEST(BeforeQueue, PassesWithSlurmsEstimate) {
  auto world = login_node(starts);
  const auto report = report_on(run_job(), world);
  EXPECT_TRUE(report.passed());
  EXPECT_TRUE(report.findings.empty()) << render_report(report);
  EXPECT_EQ(report.estimate,
            "start at 2026-11-21T11:22:45 using 4 processors on nodes n[1-2] in partition batch");
  EXPECT_EQ(render_report(report),
            "checks before the queue\n          Slurm would let it " + report.estimate + "\n");
  const auto& asked = world.ran.back();
  EXPECT_EQ(asked[1], "--test-only");
  EXPECT_EQ(asked.back(), "--wrap=true");
}

TEST(BeforeQueue, EverythingInOneMessage) {
  auto world =
      login_node({1, "", "allocation failure: More processors requested than permitted\n"});
  auto job = run_job();
  job.resources.nodes = 7;
  job.resources.time = "99";
  job.run_command = {"./missing"};
  job.stage = {"data"};
  auto facts = small_cluster();
  facts.slurm->partitions[0].max_minutes = 60;
  const auto report = report_on(job, world, facts);
  ASSERT_FALSE(report.passed());
  const auto error = as_error(report);
  EXPECT_EQ(error.kind, ErrorKind::bad_request) << "part of it is the job file's";
  EXPECT_EQ(error.what,
            "4 problems, nothing was submitted\n"
            "  asked for 7 nodes, partition batch has 2\n"
            "    try: use --set resources.nodes=2\n"
            "  asked for 99, the limit of partition batch is 60 minutes\n"
            "    try: use --set resources.time=1:00:00\n"
            "  run: no file /home/me/project/missing\n"
            "    try: correct the path: it counts from the folder dllaunch was called in\n"
            "  stage: no file or folder /home/me/project/data\n"
            "    try: correct the path");
}

TEST(BeforeQueue, OneProblemIsToldAsItIs) {
  auto world = login_node({1, "", "allocation failure: Invalid account\n"});
  const auto report = report_on(run_job(), world);
  ASSERT_FALSE(report.passed());
  EXPECT_EQ(as_error(report).what, "sbatch refused the job: allocation failure: Invalid account");
  EXPECT_EQ(as_error(report).kind, ErrorKind::unavailable);
}

TEST(BeforeQueue, ARefusalThatOnlyMeansLaterIsADoubt) {
  auto world =
      login_node({1, "", "allocation failure: Requested node configuration is not available\n"});
  EXPECT_FALSE(report_on(run_job(), world).passed()) << "no such nodes";
  auto facts = small_cluster();
  facts.slurm->outages = {{{"n2"}, "IDLE+DRAIN", "bad fan"}};
  const auto report = report_on(run_job(), world, facts);
  EXPECT_TRUE(report.passed()) << "22.05 says the same when they are drained";
  EXPECT_EQ(report.findings.size(), 1U);
}

TEST(BeforeQueue, WhatSlurmTakesIsNoMoreThanADoubtOfOurs) {
  auto job = run_job();
  job.resources.qos = "long";
  auto facts = small_cluster();
  facts.slurm->partitions[0].qos.allowed = {"short"};
  auto world = login_node(starts);
  const auto taken = report_on(job, world, facts);
  EXPECT_TRUE(taken.passed());
  ASSERT_EQ(taken.findings.size(), 1U);
  EXPECT_THAT(taken.findings[0].problem.what,
              HasSubstr("closed to QOS long (open to: short), as far as dllaunch can see; sbatch "
                        "--test-only takes the job all the same"));
  auto refusing = login_node({1, "", "allocation failure: Invalid qos specification\n"});
  EXPECT_FALSE(report_on(job, refusing, facts).passed());
}

TEST(BeforeQueue, RecordedFactsAloneAreLookedAt) {
  FakeWorld nowhere;
  auto job = run_job();
  job.resources.nodes = 7;
  const auto facts = small_cluster();
  const auto made = plan(job, facts, sample_paths(), false);
  const auto report = check_before_queue(job, facts, sample_paths(), made, true, nowhere);
  EXPECT_EQ(report.findings.size(), 1U);
  EXPECT_TRUE(nowhere.ran.empty());
}

TEST(BeforeQueue, InJson) {
  auto world = login_node(starts);
  auto job = run_job();
  job.run_command = {"pyton3"};
  const auto document = to_json(report_on(job, world));
  EXPECT_EQ(document["passed"], false);
  EXPECT_EQ(document["findings"][0]["fatal"], true);
  EXPECT_THAT(document["findings"][0]["what"].get<std::string>(), HasSubstr("pyton3"));
  EXPECT_THAT(document["estimate"].get<std::string>(), HasSubstr("n[1-2]"));
}

}  // namespace
}  // namespace dllaunch

#include "launcher/presubmit/before_queue.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "support/json.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

/// A login node where all is well; sbatch --test-only answers `said`.
FakeSystem login_node(CommandOutput said) {
  FakeSystem system;
  system.folders = {"/", "/scratch/me", "/home/me/project"};
  system.programs = {"python3", "sbatch"};
  system.files["/home/me/project/train.py"] = "";
  system.paths["/opt/dllaunch/bin/dllaunch"] = {.exists = true, .executable = true};
  system.answers["id -un"] = {0, "alice\n", ""};
  system.answers["id -Gn"] = {0, "alice users\n", ""};
  system.answers["scontrol --oneliner show reservation"] = {0, "No reservations in the system\n",
                                                            ""};
  system.respond =
      [said](const std::vector<std::string>& argv) -> std::optional<Result<CommandOutput>> {
    if (argv[0] == "sbatch") return said;
    return std::nullopt;
  };
  return system;
}

const CommandOutput starts{
    0, "",
    "sbatch: Job 5 to start at 2026-11-21T11:22:45 using 4 processors on nodes n[1-2] in partition "
    "batch\n"};

QueueReport report_on(const Job& job, FakeSystem& system, Facts facts = small_cluster()) {
  const auto made = plan(job, facts, sample_paths(), false);
  return check_before_queue(job, facts, sample_paths(), made, false, system);
}

TEST(BeforeQueue, PassesWithSlurmsEstimate) {
  auto system = login_node(starts);
  const auto report = report_on(run_job(), system);
  EXPECT_TRUE(report.passed());
  EXPECT_TRUE(report.findings.empty()) << render_report(report);
  EXPECT_EQ(report.estimate,
            "start at 2026-11-21T11:22:45 using 4 processors on nodes n[1-2] in partition batch");
  EXPECT_EQ(render_report(report),
            "checks before the queue\n  no problem found\n  Slurm expects it to " +
                report.estimate + "\n");
  const auto& asked = system.ran.back();
  EXPECT_EQ(asked[1], "--test-only");
  EXPECT_EQ(asked.back(), "--wrap=true");
}

TEST(BeforeQueue, AnEstimateYearsAheadIsNone) {
  auto said = starts;
  said.err.replace(said.err.find("2026"), 4, "2537");
  auto system = login_node(said);
  const auto report = report_on(run_job(), system);
  EXPECT_TRUE(report.passed());
  EXPECT_EQ(estimate_words(report), "Slurm cannot tell when it starts");
  EXPECT_TRUE(to_json(report)["estimate"].is_null());
  auto facts = small_cluster();
  facts.slurm->outages = {{{"n9"}, "DOWN*", ""}};
  EXPECT_EQ(estimate_words(report_on(run_job(), system, facts)),
            "Slurm cannot tell when it starts: nodes are out of order or reserved");
}

TEST(BeforeQueue, EverythingInOneMessage) {
  auto system =
      login_node({1, "", "allocation failure: More processors requested than permitted\n"});
  auto job = run_job();
  job.resources.nodes = 7;
  job.resources.time = "99";
  job.run_command = {"./missing"};
  job.stage = {"data"};
  auto facts = small_cluster();
  facts.slurm->partitions[0].max_minutes = 60;
  const auto report = report_on(job, system, facts);
  ASSERT_FALSE(report.passed());
  const auto error = as_error(report);
  EXPECT_EQ(error.kind, ErrorKind::bad_request) << "part of it is the job file's";
  EXPECT_EQ(error.what,
            "4 problems, nothing was submitted\n"
            "  asked for 7 nodes, partition batch has 2 [nodes]\n"
            "    try: use --set resources.nodes=2\n"
            "  asked for 99, the limit of partition batch is 60 minutes [time]\n"
            "    try: use --set resources.time=1:00:00\n"
            "  run: no file /home/me/project/missing [command]\n"
            "    try: correct the path: it is relative to the folder dllaunch was called in\n"
            "  stage: no file or folder /home/me/project/data [stage]\n"
            "    try: correct the path");
  EXPECT_EQ(error.hint, "`dllaunch explain ID` explains what is in brackets");
}

TEST(BeforeQueue, OneProblemIsToldAsItIs) {
  auto system = login_node({1, "", "allocation failure: Invalid account\n"});
  const auto report = report_on(run_job(), system);
  ASSERT_FALSE(report.passed());
  EXPECT_EQ(as_error(report).what,
            "sbatch refused the job: allocation failure: Invalid account [sbatch]");
  EXPECT_TRUE(as_error(report).hint.ends_with("\n  explain: dllaunch explain sbatch"));
  EXPECT_EQ(as_error(report).kind, ErrorKind::unavailable);
}

TEST(BeforeQueue, ARefusalThatOnlyMeansLaterIsADoubt) {
  auto system =
      login_node({1, "", "allocation failure: Requested node configuration is not available\n"});
  EXPECT_FALSE(report_on(run_job(), system).passed()) << "no such nodes";
  auto facts = small_cluster();
  facts.slurm->outages = {{{"n2"}, "IDLE+DRAIN", "bad fan"}};
  const auto report = report_on(run_job(), system, facts);
  EXPECT_TRUE(report.passed()) << "22.05 says the same when they are drained";
  EXPECT_EQ(report.findings.size(), 1U);
}

/// Slurm refuses to test it, and takes it: after the wait it gives any nodes.
TEST(BeforeQueue, FewLeafSwitchesOnlyMeanLater) {
  auto system = login_node(starts);
  const auto refuses = [](auto wrong) {
    return [wrong](const std::vector<std::string>& argv) -> std::optional<Result<CommandOutput>> {
      if (argv[0] != "sbatch") return std::nullopt;
      return std::ranges::any_of(argv, wrong)
                 ? CommandOutput{1, "", "allocation failure: Requested nodes are unusable\n"}
                 : starts;
    };
  };
  auto job = run_job();
  job.resources.switches = 1;
  system.respond = refuses([](const std::string& word) { return word == "--switches=1"; });
  const auto report = report_on(job, system);
  EXPECT_TRUE(report.passed()) << render_report(report);
  EXPECT_THAT(render_report(report), HasSubstr("no nodes are on so few leaf switches"));
  system.respond = refuses([](const std::string& word) { return word == "--test-only"; });
  EXPECT_FALSE(report_on(job, system).passed()) << "nor without";
}

TEST(BeforeQueue, WhatSlurmTakesIsNoMoreThanADoubtOfOurs) {
  auto job = run_job();
  job.resources.qos = "long";
  auto facts = small_cluster();
  facts.slurm->partitions[0].qos.allowed = {"short"};
  auto system = login_node(starts);
  const auto taken = report_on(job, system, facts);
  EXPECT_TRUE(taken.passed());
  ASSERT_EQ(taken.findings.size(), 1U);
  EXPECT_THAT(taken.findings[0].problem.what,
              HasSubstr("closed to QOS long (open to: short), as far as dllaunch can see; sbatch "
                        "--test-only accepts the job anyway"));
  auto refusing = login_node({1, "", "allocation failure: Invalid qos specification\n"});
  EXPECT_FALSE(report_on(job, refusing, facts).passed());
}

TEST(BeforeQueue, RecordedFactsAloneAreLookedAt) {
  FakeSystem nowhere;
  auto job = run_job();
  job.resources.nodes = 7;
  const auto facts = small_cluster();
  const auto made = plan(job, facts, sample_paths(), false);
  const auto report = check_before_queue(job, facts, sample_paths(), made, true, nowhere);
  EXPECT_EQ(report.findings.size(), 1U);
  EXPECT_TRUE(nowhere.ran.empty());
}

TEST(BeforeQueue, AnErrorOfThePlanHasTheIdOfItsSubject) {
  const auto id_of = [](const auto& change) {
    auto system = login_node(starts);
    auto job = run_job();
    change(job);
    const auto report = report_on(job, system);
    for (const auto& finding : report.findings)
      if (finding.fatal) return std::string(to_string(finding.check));
    return std::string("none");
  };
  EXPECT_EQ(id_of([](Job& job) {
              job.resources.gpus_per_node = 1;
              job.resources.device = "cpu";
            }),
            "gpus");
  EXPECT_EQ(id_of([](Job& job) { job.resources.device = "cuda"; }), "gpus");
  EXPECT_EQ(id_of([](Job& job) { job.environment.variables = {{"PPID", "1"}}; }), "environment");
  EXPECT_EQ(id_of([](Job& job) { job.stage = {"/home/me/a", "/scratch/me/a"}; }), "stage");
  EXPECT_EQ(id_of([](Job& job) { job.resources.partition = "nowhere"; }), "partition");
  EXPECT_EQ(id_of([](Job& job) { job.recovery.signal = "usr1"; }), "plan");
  EXPECT_EQ(id_of([](Job& job) { job.resources.cpus_per_rank = 500; }), "plan");
}

TEST(BeforeQueue, InJson) {
  auto system = login_node(starts);
  auto job = run_job();
  job.run_command = {"pyton3"};
  const auto document = to_json(report_on(job, system));
  EXPECT_EQ(document["passed"], false);
  EXPECT_EQ(document["findings"][0]["fatal"], true);
  EXPECT_EQ(document["findings"][0]["id"], "command");
  EXPECT_THAT(document["findings"][0]["what"].get<std::string>(), HasSubstr("pyton3"));
  EXPECT_THAT(document["estimate"].get<std::string>(), HasSubstr("n[1-2]"));
}

}  // namespace
}  // namespace dllaunch

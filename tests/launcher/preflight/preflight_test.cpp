#include "launcher/preflight/preflight.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "launcher/slurm/node_survey.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> all_but_memory = {"network", "clock",     "folders", "shm",
                                                 "gpus",    "gpu-speed", "cpu"};

NodeAnswer answer_of(const std::string& node, double available) {
  return {.node = node,
          .samples = {
              {"memory",
               {{.node = node, .seen = {{"total_bytes", 1e11}, {"available_bytes", available}}}}}}};
}

std::string lines_of(const std::string& node, double available) {
  return answer_lines(node, to_json(answer_of(node, available)));
}

const PreflightRequest three{.job_id = "12", .hosts = {"n1", "n2", "n3"}, .skip = all_but_memory};

TEST(Preflight, AsksEveryNodeOnceAndNamesTheBad) {
  FakeSystem system;
  system.respond = [](const std::vector<std::string>& argv) {
    EXPECT_EQ(argv.front(), "env");
    EXPECT_THAT(argv, Contains("--overlap"));
    EXPECT_THAT(argv, Contains("--mpi=none"));
    EXPECT_THAT(argv, Contains("--nodelist=n[1-3]"));
    EXPECT_THAT(argv, Contains("--nodes=3"));
    EXPECT_THAT(argv, Contains("--jobid=12"));
    const auto request = preflight_request_from_json(Json::parse(argv.back(), nullptr, false));
    EXPECT_TRUE(request && !request->mark.empty()) << argv.back();
    return Result<CommandOutput>(CommandOutput{0, lines_of("n1", 9e10) + lines_of("n3", 1e9),
                                               "srun: error: n2: task 1: Killed\n"});
  };
  const auto report = preflight(system, three);
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(system.ran.size(), 1u);
  EXPECT_THAT(report->exclude, ElementsAre("n2", "n3"));
  EXPECT_EQ(report->nodes[1].checks[0].name, "answer");
  EXPECT_THAT(report->nodes[1].checks[0].why, HasSubstr("task 1: Killed"));
  EXPECT_EQ(report->nodes[2].checks[0].name, "memory");
  EXPECT_TRUE(report->nodes[0].ok);
}

TEST(Preflight, OfThisNodeNeedsNoSrun) {
  FakeSystem system;
  system.host = "laptop";
  system.files["/proc/meminfo"] = "MemTotal: 1000000 kB\nMemAvailable: 900000 kB\n";
  const auto report = preflight(system, {.hosts = {"laptop"}, .skip = all_but_memory});
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_TRUE(all_ok(*report));
  EXPECT_TRUE(system.ran.empty());
  EXPECT_EQ(report->nodes[0].checks.size(), 1u);
}

TEST(Preflight, WithoutAnyAnswerQuotesSrun) {
  FakeSystem system;
  system.respond = [](const std::vector<std::string>&) {
    return Result<CommandOutput>(CommandOutput{1, "", "srun: error: Invalid job id specified\n"});
  };
  const auto report = preflight(system, three);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(report.error().what, HasSubstr("Invalid job id"));
}

TEST(Preflight, RefusesWhatMakesNoSense) {
  FakeSystem system;
  EXPECT_THAT(preflight(system, {}).error().what, HasSubstr("no node"));
  EXPECT_THAT(preflight(system, {.hosts = {"n1", "n2"}}).error().what,
              HasSubstr("needs a Slurm job"));
  const auto wrong = preflight(system, {.hosts = {"n1"}, .skip = {"cpus"}});
  EXPECT_EQ(wrong.error().what, "there is no check 'cpus'");
  EXPECT_THAT(wrong.error().hint, HasSubstr("network, clock"));
}

TEST(Preflight, ANodesPartAnswersInItsName) {
  FakeSystem system;
  system.variables["SLURMD_NODENAME"] = "n2";
  system.files["/proc/meminfo"] = "MemTotal: 1000000 kB\nMemAvailable: 900000 kB\n";
  const auto done = answer_preflight(system, to_json(three).dump());
  ASSERT_TRUE(done) << done.error().what;
  const auto answers = read_answers(system.printed);
  ASSERT_TRUE(answers.contains("n2")) << system.printed;
  const auto answer = node_answer_from_json(answers.at("n2"));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->samples.at("memory").size(), 1u);
  EXPECT_FALSE(answer_preflight(system, "nonsense"));
}

}  // namespace
}  // namespace dllaunch

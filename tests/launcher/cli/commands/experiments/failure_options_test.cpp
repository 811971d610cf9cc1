#include "launcher/cli/commands/experiments/failure_options.hpp"

#include <gmock/gmock.h>

#include "launcher/base/unix_seconds.hpp"
#include "launcher/cli/command_line.hpp"
#include "launcher/nodes/node_book.hpp"
#include "support/json.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"
#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Result<int> plan_with(FakeSystem& system, const std::vector<std::string>& more) {
  system.node = *synthetic_topology("cores:2");
  system.files["job.yaml"] = "name: j\nrun: [echo, hi]\nresources: {nodes: 4, time: 2d}\n";
  system.files["lumi.json"] = to_json(lumi_like()).dump();
  std::vector<std::string> args = {"plan", "job.yaml"};
  args.insert(args.end(), more.begin(), more.end());
  auto parsed =
      parse_command_line(command_groups(), args, [](const std::string&) { return false; });
  if (!parsed) return std::move(parsed).error();
  return std::get<Invocation>(*parsed).body(system);
}

TEST(FailureOptions, ForecastBehindThePlan) {
  FakeSystem system;
  ASSERT_TRUE(plan_with(system, {"--facts", "lumi.json", "--failures", "generic-nvidia"}));
  EXPECT_THAT(system.printed, HasSubstr("\nfailures: 2 d of training on 4 nodes\n"));
  EXPECT_THAT(system.printed, Not(HasSubstr("never"))) << "the time limit is not in its way";
  system.printed.clear();
  ASSERT_TRUE(plan_with(system, {"--facts", "lumi.json", "--failures", "generic-nvidia", "--assume",
                                 "work=5d", "--assume", "queue=3h", "--json"}));
  const auto document = Json::parse(system.printed);
  EXPECT_EQ(document.at("forecast").at("assumed").at("work_s"), 5 * 86400);
  EXPECT_EQ(document.at("forecast").at("assumed").at("queue_s"), 3 * 3600);
}

TEST(FailureOptions, ForecastFromTheNodeBook) {
  const TemporaryFolder folder;
  const NodeBook book{folder.path() + "/nodes.jsonl"};
  const double now = unix_seconds();
  NodeSighting used{
      .time = now, .cluster = "lumi", .nodes = "n[1-16]", .run = "17", .value = 20 * 86400};
  ASSERT_TRUE(append_to_node_book(book, {used}, now));
  FakeSystem system;
  system.variables[node_book_variable] = book.path;
  const auto asked = [&] {
    return plan_with(system, {"--facts", "lumi.json", "--failures", "book"});
  };
  EXPECT_THAT(asked().error().what, HasSubstr("no failure of a node in 7680 node-hours"));
  used.kind = SightingKind::failed;
  used.nodes = "n3";
  used.value = 1;
  ASSERT_TRUE(append_to_node_book(book, {used}, now));
  ASSERT_TRUE(asked());
  EXPECT_THAT(
      system.printed,
      AllOf(HasSubstr("  node book: 1 failure in 7680 node-hours on 16 nodes in 1 day of cluster"),
            HasSubstr("  a node fails every 320 d, one of the job's every 80 d\n"
                      "  with so few failures it may be every 82 d ")));
}

TEST(FailureOptions, WhatCannotBeForecastIsRefused) {
  const auto problem = [](const std::vector<std::string>& more) {
    FakeSystem system;
    const auto done = plan_with(system, more);
    return done ? "" : done.error().what + "; " + done.error().hint;
  };
  EXPECT_THAT(problem({"--local", "--set", "resources.nodes=1", "--failures", "generic-nvidia"}),
              AllOf(HasSubstr("jobs on Slurm"), HasSubstr("pass --facts")));
  EXPECT_THAT(problem({"--facts", "lumi.json", "--failures", "nowhere"}), HasSubstr("nowhere"));
  EXPECT_THAT(problem({"--facts", "lumi.json", "--failures", ""}), HasSubstr("--failures"));
  EXPECT_THAT(problem({"--facts", "lumi.json", "--assume", "work=1d"}),
              HasSubstr("--assume requires --failures"));
  EXPECT_THAT(problem({"--facts", "lumi.json", "--failures", "generic-nvidia", "--assume", "x"}),
              HasSubstr("--assume does not know x"));
  EXPECT_THAT(problem({"--facts", "lumi.json", "--failures", "generic-nvidia", "--set",
                       "resources.time=null"}),
              HasSubstr("how long the job trains"));
  EXPECT_THAT(problem({"--facts", "lumi.json", "--failures", "generic-nvidia", "--assume",
                       "work=1000000d"}),
              HasSubstr("fortnights, and at most 10000 are simulated"));
  EXPECT_THAT(problem({"--facts", "lumi.json", "--failures", "generic-nvidia", "--set",
                       "resources.time=5m", "--assume", "restart=5m", "--assume", "work=1d"}),
              HasSubstr("the time limit of 5 min leaves no training: the start takes 5 min"));
  EXPECT_THAT(problem({"--facts", "lumi.json", "--failures", "generic-nvidia", "--set",
                       "resources.time=10m", "--set", "recovery.requeue_on=[timeout]", "--assume",
                       "work=700d"}),
              HasSubstr("failures, time limits and fortnights"));
}

}  // namespace
}  // namespace dllaunch

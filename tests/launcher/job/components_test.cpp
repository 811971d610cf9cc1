#include "launcher/job/components.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/config/yaml_text.hpp"
#include "launcher/job/job_file.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

ParsedJob parse(const std::string& text, const std::vector<std::string>& sets = {}) {
  return parse_job(text, "job.yaml", sets);
}

constexpr const char* two = R"(name: both
resources: {nodes: 2, device: cpu, time: 2h, memory: 4GB}
environment: [A=1, B=2]
run: [serve]
recovery: {max_restarts: 2}
components:
  - name: data-loader
    environment: {variables: {B: 3}}
  - name: trainer
    ends: job
    resources: {partition: booster, memory: {per_rank: 1GB}}
    train: {model: mlp, dataset: synthetic, epochs: 1}
)";

TEST(Components, HaveTheTopLevelKeysAsDefaults) {
  const auto parsed = parse(two);
  ASSERT_TRUE(parsed.job) << render(parsed.problems, false);
  ASSERT_EQ(parsed.job->components.size(), 2u);
  const auto& [name, ends, loader] = parsed.job->components[0];
  EXPECT_EQ(name, "data-loader");
  EXPECT_FALSE(ends);
  EXPECT_EQ(loader.name, "both-data-loader");
  EXPECT_EQ(loader.run_command, std::vector<std::string>{"serve"});
  EXPECT_EQ(loader.resources.nodes, 2);
  EXPECT_EQ(loader.resources.memory->per, MemoryPer::node);
  EXPECT_EQ(loader.environment.variables,
            (std::vector<std::pair<std::string, std::string>>{{"B", "3"}, {"A", "1"}}));
  const auto& trainer = parsed.job->components[1];
  EXPECT_TRUE(trainer.ends_job);
  EXPECT_TRUE(trainer.job.run_command.empty()) << "train: replaces run:";
  EXPECT_FALSE(trainer.job.train.is_null());
  EXPECT_EQ(trainer.job.resources.memory->per, MemoryPer::rank);
  EXPECT_EQ(trainer.job.resources.partition, "booster");
  EXPECT_TRUE(trainer.job.recovery.written);
  EXPECT_EQ(trainer.job.recovery.max_restarts, 2);
  EXPECT_TRUE(parsed.job->run_command.empty());
}

// Only where they are keys of the job file, words replace others.
TEST(Components, VariablesOfAnyNameAreMerged) {
  const auto parsed = parse(R"(name: both
environment: {variables: {run: a, gpus: 1, per_node: x}}
run: serve
components:
  - {name: a, environment: {variables: {train: b, gpus_per_node: 2, per_rank: y}}}
  - {name: b}
)");
  ASSERT_TRUE(parsed.job) << render(parsed.problems, false);
  EXPECT_EQ(parsed.job->components[0].job.environment.variables.size(), 6u);
}

// RUN/job.yaml is what a run continues from.
TEST(Components, AreReadBackAsStored) {
  const auto parsed = parse(two);
  ASSERT_TRUE(parsed.job);
  const auto again = parse(to_yaml(stored_json(*parsed.job)));
  ASSERT_TRUE(again.job) << render(again.problems, false);
  ASSERT_EQ(again.job->components.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(again.job->components[i].job.resolved, parsed.job->components[i].job.resolved);
    EXPECT_EQ(again.job->components[i].ends_job, parsed.job->components[i].ends_job);
  }
  EXPECT_EQ(stored_json(*again.job), stored_json(*parsed.job));
}

TEST(Components, AreSetByName) {
  const auto parsed = parse(two, {"components.trainer.resources.nodes=5", "resources.nodes=3"});
  ASSERT_TRUE(parsed.job) << render(parsed.problems, false);
  EXPECT_EQ(parsed.job->components[0].job.resources.nodes, 3);
  EXPECT_EQ(parsed.job->components[1].job.resources.nodes, 5);
  const auto unknown = parse(two, {"components.trainr.resources.nodes=5"});
  ASSERT_EQ(unknown.problems.size(), 1u);
  EXPECT_THAT(unknown.problems[0].message, HasSubstr("no component has this name"));
  EXPECT_EQ(unknown.problems[0].column, 12);
  const auto whole = parse(two, {"components.trainer=1"});
  ASSERT_EQ(whole.problems.size(), 1u);
  EXPECT_THAT(whole.problems[0].message, HasSubstr("the key of the component is missing"));
}

TEST(Components, AProblemOfTheDefaultsIsToldOnce) {
  const auto parsed =
      parse("name: x\nresources: {nodes: many}\nrun: 'true'\ncomponents: [{name: a}, {name: b}]\n");
  ASSERT_EQ(parsed.problems.size(), 1u) << render(parsed.problems, false);
  EXPECT_EQ(parsed.problems[0].line, 2);
}

TEST(Components, NameTheirVariables) {
  EXPECT_EQ(variable_word("data-loader2_x"), "DATA_LOADER2_X");
}

// Each costs a pass over the file.
TEST(Components, TooManyAreNotRead) {
  std::string text = "name: x\nrun: 'true'\ncomponents:\n";
  for (int i = 0; i < 20000; ++i) text += "  - {name: c" + std::to_string(i) + "}\n";
  const auto parsed = parse(text);
  ASSERT_EQ(parsed.problems.size(), 1u);
  EXPECT_THAT(parsed.problems[0].message, HasSubstr("at most 128, here are 20000"));
}

TEST(Components, NullIsNone) {
  const auto parsed = parse("name: x\nrun: 'true'\ncomponents:\n");
  ASSERT_TRUE(parsed.job) << render(parsed.problems, false);
  EXPECT_TRUE(parsed.job->components.empty());
}

}  // namespace
}  // namespace dllaunch

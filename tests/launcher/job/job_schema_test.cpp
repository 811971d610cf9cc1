#include "launcher/job/job_schema.hpp"
#include "launcher/job/train_schema.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "launcher/job/job_file.hpp"
#include "launcher/job/job_keys.hpp"
#include "launcher/os/posix_system.hpp"
#include "support/json.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dllaunch {
namespace {

/// Every leaf has a default, or is required; every key is explained.
void check_properties(const Json& schema, const std::string& path) {
  for (const auto& [name, property] : schema["properties"].items()) {
    const std::string here = path + name;
    EXPECT_NE(property.value("description", ""), "") << here;
    if (property.contains("properties")) {
      EXPECT_EQ(property["additionalProperties"], false) << here;
      check_properties(property, here + ".");
      continue;
    }
    const Json required = schema.value("required", Json::array());
    const bool is_required = std::find(required.begin(), required.end(), name) != required.end();
    EXPECT_NE(property.contains("default") || path + name == "name", is_required) << here;
  }
}

TEST(JobSchema, ExplainsEveryKeyAndGivesItADefault) {
  check_properties(job_schema(), "");
}

TEST(JobSchema, SurvivesItsOwnText) {
  EXPECT_EQ(Json::parse(job_schema().dump()), job_schema());
}

TEST(JobSchema, TakesTheTrainersPartFromTheTrainer) {
  const Json& said = train_schema();
  const Json train = job_schema()["properties"]["train"];
  EXPECT_EQ(train["properties"]["model"], said["properties"]["model"]);
  EXPECT_EQ(train["required"], said["required"]);
}

TEST(JobSchema, IsThePageInDocs) {
  EXPECT_TRUE(matches_file("docs/reference/job-file.md", render_schema_markdown()));
}

/// Another implementation of JSON Schema, over every fixture: what it takes we take, and the other
/// way round as far as a schema can say it.
TEST(JobSchema, AgreesWithAnotherValidator) {
  PosixSystem system{Console{}};
  const auto probe =
      system.run({"python3", "-c", "import jsonschema, yaml"}, std::chrono::seconds(60));
  if (!probe || probe->exit_code != 0) {
    GTEST_SKIP() << "unavailable: python3 with jsonschema and yaml";
  }
  const TemporaryFolder folder;
  const std::string schema = folder.path() + "/job.schema.json";
  std::ofstream(schema) << job_schema().dump();
  const std::string root = DLLAUNCH_SOURCE_DIR;
  const auto checked = system.run({"python3", root + "/tests/launcher/check_schema.py", schema,
                                   root + "/examples", root + "/tests/fixtures/jobs"},
                                  std::chrono::seconds(60));
  ASSERT_TRUE(checked);
  EXPECT_EQ(checked->exit_code, 0) << checked->out << checked->err;
}

}  // namespace
}  // namespace dllaunch

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/launcher/preflight/node_samples.hpp"

namespace dllaunch {
namespace {

TEST(PreflightChecks, HaveNamesAndDeadlines) {
  std::set<std::string_view> names;
  for (const auto* check : preflight_checks()) {
    EXPECT_TRUE(names.insert(check->name).second) << check->name;
    EXPECT_FALSE(check->about.empty()) << check->name;
    EXPECT_NE(check->judge, nullptr) << check->name;
    if (check->observe == nullptr) {
      EXPECT_TRUE(names.contains(check->reads)) << check->name << " judges what no check observes";
      continue;
    }
    EXPECT_GT(check->limit.count(), 0) << check->name;
    EXPECT_LE(check->limit.count(), 8000) << check->name;
  }
}

TEST(PreflightChecks, AreDocumented) {
  std::ifstream file(std::filesystem::path(DLLAUNCH_SOURCE_DIR) / "docs/how-to/preflight.md");
  std::ostringstream text;
  text << file.rdbuf();
  for (const auto* check : preflight_checks())
    EXPECT_THAT(text.str(), testing::HasSubstr("| `" + std::string(check->name) + "` |"));
}

/// What comes from other nodes may be anything; every judge has to take it.
TEST(PreflightChecks, JudgeAnyAnswer) {
  const std::vector<Json> answers = {
      Json::object(),
      {{"peers", 7}, {"nvml", "no"}, {"amd", Json::array()}, {"total_bytes", "much"}},
      {{"peers", {1, "two", nullptr, {{"to", "n2"}}}}, {"share", -1}, {"gflops", 1e300}},
      {{"nvml", {{"gpus", {1, Json::object(), {{"slowed", -5}, {"index", 1e300}}}}}},
       {"promised", 1e300}},
      {{"nvidia_files", -1e300}, {"free_bytes", -1}, {"total_bytes", 0}}};
  for (const auto* check : preflight_checks()) {
    for (const auto& one : answers) {
      for (const auto& other : answers) {
        const auto results = check->judge(
            {.hosts = {"n1", "n2"}}, {sample("n1", one, "TMPDIR"), sample("n2", other, "TMPDIR")});
        for (const auto& [node, result] : results) EXPECT_TRUE(node == "n1" || node == "n2");
      }
    }
    EXPECT_TRUE(check->judge({}, {}).empty()) << check->name;
  }
}

TEST(PreflightChecks, ReadOnlyWhatIsOfItsKind) {
  const Json seen{{"number", 3}, {"text", "words"}, {"flag", true}};
  EXPECT_EQ(number_of(seen, "number"), 3.0);
  EXPECT_EQ(number_of(seen, "text"), std::nullopt);
  EXPECT_EQ(number_of(Json(), "number"), std::nullopt);
  EXPECT_EQ(text_of(seen, "text"), "words");
  EXPECT_EQ(text_of(seen, "flag"), "");
  EXPECT_TRUE(flag_of(seen, "flag"));
  EXPECT_FALSE(flag_of(seen, "number"));
  EXPECT_FALSE(flag_of(Json::array(), "flag"));
}

}  // namespace
}  // namespace dllaunch

#include "launcher/os/stored_json.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

std::string nested(std::size_t depth) {
  return R"({"a":)" + std::string(depth, '[') + std::string(depth, ']') + "}";
}

TEST(StoredJson, AnObjectOfBoundedDepth) {
  EXPECT_EQ(json_object_in(R"({"a": [1]})")["a"][0], 1);
  for (const char* none : {"", "[]", "1", "{", "{\"a\":}", "\xff"}) {
    EXPECT_TRUE(json_object_in(none).is_null()) << none;
  }
  EXPECT_FALSE(json_object_in(nested(60)).is_null());
  EXPECT_TRUE(json_object_in(nested(70)).is_null());
  EXPECT_TRUE(json_object_in(nested(500'000)).is_null());
}

TEST(StoredJson, TextIsIndentedAndUtf8) {
  EXPECT_EQ(json_text({{"a", "\xff"}}), "{\n  \"a\": \"\xef\xbf\xbd\"\n}\n");
  EXPECT_EQ(json_object_in(json_text({{"a", {1, 2}}})), (Json{{"a", {1, 2}}}));
}

TEST(StoredJson, SizesAreJudged) {
  FakeSystem system;
  system.files["/run/job.id"] = "4711\n";
  EXPECT_EQ(*read_run_file(system, "/run/job.id", 4096), "4711\n");
  EXPECT_EQ(*read_run_file(system, "/run/none", 4096), "");
  system.files["/run/job.id"] = std::string(5000, '7');
  EXPECT_EQ(read_run_file(system, "/run/job.id", 4096).error().what,
            "/run/job.id is larger than 4 KiB: dllaunch did not write it");
}

/// A run whose file system is away has not lost its plan.
TEST(StoredJson, AFileThatIsNotGivenIsNotTakenForNone) {
  class Stale : public FakeSystem {
    Result<std::string> read_file(const std::string& path) override {
      return Error{ErrorKind::unavailable, "cannot read " + path + ": Stale file handle", ""};
    }
  };
  Stale system;
  const auto text = read_run_file(system, "/run/plan.json", 4096);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(text.error().what, "cannot read /run/plan.json: Stale file handle");
}

TEST(StoredJson, AnyTextIsSurvived) {
  const std::string alphabet = "{}[]\":,a1 \\e-.tn\x80";
  for (unsigned seed = 0; seed < 5000; ++seed) {
    std::mt19937 random(seed);
    std::string text = "{\"a\":";
    for (auto i = random() % 60; i > 0; --i) text += alphabet[random() % alphabet.size()];
    const auto document = json_object_in(text);
    ASSERT_TRUE(document.is_null() || document.is_object()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace dllaunch

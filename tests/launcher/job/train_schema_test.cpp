#include "launcher/job/train_schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace dllaunch {
namespace {

const Json& backend_of(const Json& schema) {
  return schema["properties"]["backend"];
}

TEST(TrainSchema, HasTheBackendsThatWereBuilt) {
  constexpr std::array built{BuiltBackend{"cuda", "CUDA 13", false},
                             BuiltBackend{"reference", "plain loops", false}};
  const Json schema = train_schema_of(train_schema_text(), built);
  const Json& backend = backend_of(schema);
  EXPECT_EQ(backend["enum"], Json::array({"auto", "cuda", "reference"}));
  EXPECT_EQ(backend["x-enum-descriptions"][1], "CUDA 13 on cuda");
  EXPECT_EQ(backend["x-enum-descriptions"][2], "plain loops on cpu");
  EXPECT_EQ(backend["x-backends"].size(), 2u);
}

TEST(TrainSchema, ABackendHasGpuMemoryWhereACommunicatorReducesIt) {
  constexpr std::array with{BuiltBackend{"cuda", "CUDA 13", true}};
  constexpr std::array without{BuiltBackend{"cuda", "CUDA 13", false}};
  const Json one = train_schema_of(train_schema_text(), with);
  const Json other = train_schema_of(train_schema_text(), without);
  EXPECT_EQ(backend_of(one)["x-backends"][0]["gpu_memory"], true);
  EXPECT_EQ(backend_of(other)["x-backends"][0]["gpu_memory"], false);
}

TEST(TrainSchema, TheReferenceBackendIsAlwaysBuilt) {
  ASSERT_FALSE(built_backends().empty());
  EXPECT_EQ(built_backends().back().name, "reference");
  EXPECT_EQ(backend_of(train_schema())["enum"].size(), built_backends().size() + 1);
}

}  // namespace
}  // namespace dllaunch

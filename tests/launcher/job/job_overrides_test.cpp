#include "launcher/job/job_overrides.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

std::string apply(const std::string& yaml, const std::string& set, YamlPointer& root) {
  root = parse_yaml(yaml, 0).root;
  const auto problem = apply_override(*root, set, 1);
  return problem ? std::to_string(problem->mark.column) + " " + problem->message : "";
}

TEST(JobOverrides, ReplacesAValueAndPointsIntoTheOverride) {
  YamlPointer root;
  ASSERT_EQ(apply("a: {b: 1, c: 2}", "a.b=[x, y]", root), "");
  const YamlEntry& b = root->entries[0].value->entries[0];
  EXPECT_EQ(b.mark.source, 0);
  EXPECT_EQ(b.value->items[1]->mark.source, 1);
  EXPECT_EQ(b.value->items[1]->mark.column, 9);
  EXPECT_EQ(root->entries[0].value->entries[1].value->text, "2");
}

TEST(JobOverrides, MakesTheBlocksThatAreMissing) {
  YamlPointer root;
  ASSERT_EQ(apply("n: 1\na:\n", "a.bb.c=", root), "");
  const YamlEntry& bb = root->entries[1].value->entries[0];
  EXPECT_EQ(bb.mark.column, 3);
  EXPECT_EQ(bb.value->entries[0].mark.column, 6);
  EXPECT_EQ(bb.value->entries[0].value->kind, YamlKind::null);
}

TEST(JobOverrides, LeavesSharedBlocksAlone) {
  YamlPointer root;
  ASSERT_EQ(apply("a: &x {k: 1}\nb: *x\n", "b.k=2", root), "");
  EXPECT_EQ(root->entries[0].value->entries[0].value->text, "1");
  EXPECT_EQ(root->entries[1].value->entries[0].value->text, "2");
}

TEST(JobOverrides, RefusesWhatItCannotApply) {
  YamlPointer root;
  EXPECT_EQ(apply("a: 1", "a", root), "1 an override must be KEY.PATH=VALUE");
  EXPECT_EQ(apply("a: 1", "=3", root), "1 an override must be KEY.PATH=VALUE");
  EXPECT_EQ(apply("a: 1", "a..b=3", root), "1 an override must be KEY.PATH=VALUE");
  EXPECT_EQ(apply("a: 1", "a.b=3", root), "3 'a.b' is not a block of keys in the job file");
  EXPECT_EQ(apply("a: 1", "a=[", root), "3 YAML: end of sequence flow not found");
}

}  // namespace
}  // namespace dllaunch

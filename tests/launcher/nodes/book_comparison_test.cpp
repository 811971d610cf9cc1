#include "launcher/nodes/book_comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dllaunch {
namespace {

using testing::IsEmpty;

constexpr double now = 1'800'000'000;

NodeSighting was(const std::string& node, double value, double age_s = 86400 * 3) {
  return {.time = now - age_s,
          .kind = SightingKind::measured,
          .cluster = "c",
          .nodes = node,
          .value = value,
          .what = "cpu GFLOP/s"};
}

PreflightReport report_of(double value, const std::string& what = "cpu GFLOP/s") {
  return {.nodes = {{.node = "n1", .measured = {{.what = what, .value = value}}}}};
}

std::vector<PreflightResult> compared(const std::vector<NodeSighting>& seen,
                                      PreflightReport report = report_of(10)) {
  compare_with_book(seen, "c", now, report);
  return report.nodes[0].checks;
}

TEST(BookComparison, AFirstMeasurementHasNothingBesideIt) {
  EXPECT_THAT(compared({}), IsEmpty());
  auto elsewhere = was("n1", 30);
  elsewhere.cluster = "d";
  EXPECT_THAT(compared({elsewhere}), IsEmpty());
}

TEST(BookComparison, ANodeThatHasBecomeSlow) {
  const auto checks = compared({was("n1", 30), was("n1", 31), was("n1", 29), was("n2", 11)});
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_EQ(checks[0].name, "history");
  EXPECT_EQ(checks[0].level, Level::warn);
  EXPECT_EQ(checks[0].value, "10.0; its own before: 30.0; that of other nodes: 11.0");
  EXPECT_EQ(checks[0].why, "0.33 of its own before");
}

TEST(BookComparison, ANodeThatIsSlowerThanItsPeers) {
  const auto checks =
      compared({was("n1", 10), was("n2", 30), was("n3", 31), was("n2", 5, 86400 * 9)});
  EXPECT_EQ(checks.at(0).why, "0.33 of that of other nodes");
}

TEST(BookComparison, AsFastAsEver) {
  const auto checks = compared({was("n1", 11), was("n2", 9)});
  EXPECT_EQ(checks.at(0).level, Level::ok);
  EXPECT_EQ(checks.at(0).why, "");
}

TEST(BookComparison, CorrectedMemoryErrorsAreCountedSinceTheLastLook) {
  const std::string what(memory_errors_figure);
  auto before = was("n1", 100);
  before.kind = SightingKind::memory_error;
  before.what = what;
  EXPECT_EQ(compared({before}, report_of(150, what)).at(0).value, "50 more since 3 days ago");
  EXPECT_EQ(compared({before}, report_of(150, what)).at(0).level, Level::ok);
  EXPECT_EQ(compared({before}, report_of(1150, what)).at(0).level, Level::warn);
  EXPECT_EQ(compared({before}, report_of(20, what)).at(0).value, "20 more since 3 days ago");
}

}  // namespace
}  // namespace dllaunch

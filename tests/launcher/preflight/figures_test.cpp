#include "launcher/preflight/figures.hpp"

#include <gtest/gtest.h>

namespace dllaunch {
namespace {

std::vector<NodeFigure> figures(const std::string& check, const Json& seen,
                                const std::string& trouble = "") {
  return figures_of(
      {.node = "n1", .samples = {{check, {{.node = "n1", .seen = seen, .trouble = trouble}}}}});
}

TEST(PreflightFigures, OfCpus) {
  const Json seen = {{"model", "EPYC"}, {"cpus", 4}, {"gflops", 30.5}, {"gb_per_s", 12.0}};
  const auto all = figures("cpu", seen);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].what, "cpu GFLOP/s");
  EXPECT_EQ(all[0].like, "EPYC, 4 CPUs");
  EXPECT_EQ(all[0].value, 30.5);
  EXPECT_EQ(all[1].value, 12);
  EXPECT_TRUE(figures("cpu", seen, "it hung").empty());
}

TEST(PreflightFigures, OfGpusTheSlowest) {
  const Json seen = {{"gpus",
                      {{{"name", "H100"}, {"tflops", 700.0}, {"to_gpu", 50.0}},
                       {{"name", "H100"}, {"tflops", 350.0}},
                       {{"name", "other"}, {"tflops", 1.0}}}}};
  const auto all = figures("gpu-speed", seen);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].what, "gpu TFLOP/s");
  EXPECT_EQ(all[0].like, "H100");
  EXPECT_EQ(all[0].value, 350);
  EXPECT_EQ(all[1].value, 50);
}

TEST(PreflightFigures, NoMemoryErrorIsACountToo) {
  const auto all = figures("memory", {{"corrected_errors", 0.0}});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].value, 0);
  EXPECT_TRUE(figures("memory", {{"total_bytes", 5.0}}).empty());
}

TEST(PreflightFigures, AnswersOfOtherKindsHaveNone) {
  for (const Json& seen : {Json(), Json(7), Json::array(), Json{{"gpus", 7}}, Json{{"cpus", "x"}}})
    for (const char* check : {"cpu", "gpu-speed", "memory"})
      EXPECT_TRUE(figures(check, seen).empty()) << check;
}

}  // namespace
}  // namespace dllaunch

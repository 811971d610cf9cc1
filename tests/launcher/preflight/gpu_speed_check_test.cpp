#include <gmock/gmock.h>

#include "tests/launcher/preflight/node_samples.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

Json gpu(double to_gpu, double tflops, const std::string& why = "", int wrong = 0) {
  return {{"name", "H100"}, {"why", why}, {"to_gpu", to_gpu}, {"tflops", tflops}, {"wrong", wrong}};
}
Json node(std::vector<Json> gpus) {
  return {{"found", true}, {"why", ""}, {"gpus", std::move(gpus)}};
}

TEST(PreflightGpuSpeed, NamesTheSlowGpu) {
  EXPECT_EQ(judged("gpu-speed", {},
                   {sample("n1", node({gpu(50, 60), gpu(51, 59)})),
                    sample("n2", node({gpu(50, 60), gpu(25, 60)}))}),
            (Words{"n1 ok", "n2 GPU 1 fail: 25.0 GB/s to it where others of its kind have 50.0"}));
  EXPECT_EQ(judged("gpu-speed", {}, {sample("n1", node({gpu(50, 60), gpu(51, 45), gpu(50, 60)}))}),
            Words{"n1 GPU 1 warn: 45.0 TFLOP/s where others of its kind have 60.0"});
  EXPECT_EQ(judged("gpu-speed", {}, {sample("n1", node({gpu(1, 1)}))}), Words{"n1 ok"});
}

TEST(PreflightGpuSpeed, ComparesOnlyWithItsKind) {
  auto other = gpu(10, 10);
  other["name"] = "T4";
  EXPECT_EQ(
      judged("gpu-speed", {}, {sample("n1", node({gpu(50, 60)})), sample("n2", node({other}))}),
      (Words{"n1 ok", "n2 ok"}));
}

TEST(PreflightGpuSpeed, WhatEveryGpuRefusesIsNoGpusFault) {
  EXPECT_EQ(judged("gpu-speed", {},
                   {sample("n1", node({gpu(50, 60), gpu(50, 60, "a copy to it fails")}))}),
            Words{"n1 GPU 1 fail: a copy to it fails"});
  EXPECT_EQ(judged("gpu-speed", {}, {sample("n1", node({gpu(50, 60, "no kernel")}))}),
            Words{"n1 GPU 0 warn: no kernel"});
  EXPECT_EQ(judged("gpu-speed", {}, {sample("n1", node({gpu(50, 60), gpu(50, 60, "", 3)}))}),
            Words{"n1 GPU 1 fail: 3 of its threads computed a wrong sum"});
  EXPECT_EQ(judged("gpu-speed", {}, {sample("n1", node({gpu(50, 60, "", 3)}))}),
            Words{"n1 GPU 0 warn: 3 of its threads computed a wrong sum"});
}

TEST(PreflightGpuSpeed, OfAJobWithoutGpusIsNotMeasured) {
  FakeSystem system;
  const PreflightRequest request{.job_id = "7"};
  const auto seen = check_named("gpu-speed").observe({request, system, "n1"}, "");
  ASSERT_TRUE(seen);
  EXPECT_EQ(text_of(*seen, "why"), "the job has no GPU");
  EXPECT_EQ(judged("gpu-speed", request, {sample("n1", *seen)}), Words{"n1 ok"});
}

}  // namespace
}  // namespace dllaunch

#include "launcher/preflight/request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/fake_system.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/topology/discovery/damage.hpp"

namespace dllaunch {
namespace {

const PreflightRequest sample{.job_id = "12",
                              .hosts = {"n1", "n2"},
                              .folders = {{"run directory", "/scratch/run", 5}},
                              .ranks_per_node = 4,
                              .gpus_per_node = 2,
                              .memory_bytes = 1ULL << 40,
                              .host_suffix = "-ib",
                              .skip = {"cpu"},
                              .patience = std::chrono::seconds(20),
                              .mark = "12.1.ff"};

TEST(PreflightRequest, TravelsWhole) {
  const auto again = preflight_request_from_json(to_json(sample));
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(to_json(*again), to_json(sample));
  EXPECT_EQ(again->patience, sample.patience);
}

TEST(PreflightRequest, TakesAnyText) {
  with_damaged({to_json(sample).dump()}, 3000, 17, [](const std::string& text) {
    const auto document = Json::parse(text, nullptr, false);
    const auto request = preflight_request_from_json(document);
    EXPECT_TRUE(!request || preflight_request_from_json(to_json(*request)));
  });
  EXPECT_FALSE(preflight_request_from_json(Json()));
}

TEST(PreflightRequest, IsOfTheAllocation) {
  FakeSystem system;
  system.variables = {
      {"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NODELIST", "n[1-3]"}, {"SLURM_MEM_PER_NODE", "4096"}};
  const auto request = observe_preflight_request(system, "");
  ASSERT_TRUE(request) << request.error().what;
  EXPECT_EQ(request->job_id, "12");
  EXPECT_EQ(request->hosts.size(), 3u);
  EXPECT_EQ(request->memory_bytes, 4096ULL << 20);
  EXPECT_TRUE(request->folders.empty());

  FakeSystem outside;
  outside.host = "laptop";
  EXPECT_EQ(observe_preflight_request(outside, "")->hosts, std::vector<std::string>{"laptop"});
}

TEST(PreflightRequest, KnowsWhatTheRunNeeds) {
  const TemporaryFolder run;
  const auto newest = run.path() + "/checkpoints/step-100000000";
  std::filesystem::create_directories(newest);
  std::filesystem::create_directories(run.path() + "/checkpoints/step-99999999");
  std::filesystem::create_directories(run.path() + "/checkpoints/.step-00000030.tmp");
  std::ofstream(newest + "/model.safetensors") << std::string(3000, 'x');
  std::ofstream(newest + "/state.json") << "{}";
  FakeSystem system;
  system.files[run.path() + "/plan.json"] = R"({"ranks_per_node": 4, "host_suffix": "i"})";
  const auto request = observe_preflight_request(system, run.path());
  ASSERT_TRUE(request);
  ASSERT_EQ(request->folders.size(), 2u);
  EXPECT_EQ(request->folders[0].path, run.path());
  EXPECT_EQ(request->folders[1].bytes, 3002u);
  EXPECT_EQ(request->ranks_per_node, 4);
  EXPECT_EQ(request->host_suffix, "i");

  system.files.clear();
  EXPECT_EQ(observe_preflight_request(system, run.path() + "/none")->ranks_per_node, 1);
}

}  // namespace
}  // namespace dllaunch

#include "launcher/job/expand_tilde.hpp"

#include <gmock/gmock.h>

#include "launcher/job/load_job.hpp"
#include "support/json.hpp"
#include "tests/support/fake_system.hpp"

namespace dllaunch {
namespace {

using testing::ElementsAre;

constexpr const char* text =
    "name: a\n"
    "stage: [~/data.tar, data/~/b, ~bob/c]\n"
    "environment:\n"
    "  activate: ~/venvs/torch\n"
    "  container: {image: ~/x.sif, mounts: ['~/in:/in', /scratch]}\n"
    "run: [cat, ~/x]\n";

TEST(ExpandTilde, AreWrittenOutWhereAKeyNamesAPath) {
  FakeSystem system;
  system.files["job.yaml"] = text;
  system.variables["HOME"] = "/home/ann lee";
  const auto job = load_job(system, "job.yaml", {});
  ASSERT_TRUE(job) << job.error().what;
  EXPECT_THAT(job->stage, ElementsAre("/home/ann lee/data.tar", "data/~/b", "~bob/c"));
  EXPECT_EQ(job->environment.activate, "/home/ann lee/venvs/torch");
  EXPECT_EQ(job->environment.container->image, "/home/ann lee/x.sif");
  EXPECT_THAT(job->environment.container->mounts, ElementsAre("/home/ann lee/in:/in", "/scratch"));
  EXPECT_THAT(job->run_command, ElementsAre("cat", "~/x")) << "a list is taken word by word";
}

TEST(ExpandTilde, OfTheDataToTrainOn) {
  Job job;
  job.train = {{"dataset", {{"path", "~/mnist"}}}};
  EXPECT_EQ(expand_tilde(job, "/h").train["dataset"]["path"], "/h/mnist");
  job.train["dataset"]["path"] = nullptr;
  EXPECT_TRUE(expand_tilde(job, "/h").train["dataset"]["path"].is_null());
}

TEST(ExpandTilde, OfTheWeightsToBeginWith) {
  Job job;
  job.train = {{"init_from", "~/resnet50.safetensors"}};
  EXPECT_EQ(expand_tilde(job, "/h").train["init_from"], "/h/resnet50.safetensors");
  job.train["init_from"] = nullptr;
  EXPECT_TRUE(expand_tilde(job, "/h").train["init_from"].is_null());
}

TEST(ExpandTilde, WithoutAHomeStayAsTheyAre) {
  FakeSystem system;
  system.files["job.yaml"] = text;
  const auto job = load_job(system, "job.yaml", {});
  ASSERT_TRUE(job) << job.error().what;
  EXPECT_EQ(job->environment.activate, "~/venvs/torch");
}

}  // namespace
}  // namespace dllaunch

#include "launcher/launch/unseen_end.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/os/atomic_file.hpp"
#include "launcher/run/run_files.hpp"
#include "launcher/slurm/slurm_job.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

class UnseenEnd : public testing::Test {
 protected:
  bool shown(const std::string& status, const Job& job) {
    const auto path =
        place_.store({.folder = "r" + status, .job_id = "7", .status = status, .trains = false});
    EXPECT_TRUE(write_file(path + "/job.yaml", job_text(run_job())));
    place_.system.answers["squeue --noheader --format=" + std::string(queue_format) + " --jobs=7"] =
        {0, "", ""};
    return show_unseen_end(place_.system, {.path = path, .resumed = true}, job);
  }
  RunPlace place_;
};

TEST_F(UnseenEnd, OfACompletedJobIsShown) {
  EXPECT_TRUE(shown("completed", run_job()));
  EXPECT_THAT(place_.system.printed, HasSubstr("completed"));
  EXPECT_THAT(place_.system.logged, HasSubstr("the same command once more starts it again"));
}

TEST_F(UnseenEnd, OfAnotherOrAFailedJobIsNone) {
  EXPECT_FALSE(shown("failed", run_job())) << "it is to continue";
  auto other = run_job();
  other.resolved["resources"]["time"] = "7";
  EXPECT_FALSE(shown("completed", other)) << "there is more to do";
}

}  // namespace
}  // namespace dllaunch

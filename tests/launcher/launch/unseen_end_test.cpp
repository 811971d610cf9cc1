#include "launcher/launch/unseen_end.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/job/job_file.hpp"
#include "launcher/os/atomic_file.hpp"
#include "launcher/run/run_files.hpp"
#include "launcher/slurm/slurm_job.hpp"
#include "tests/launcher/stored_runs.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

Job job_of(int minutes) {
  const auto parsed = parse_job(
      fmt::format("name: x\nresources: {{nodes: 1, time: {}}}\nrun: [\"true\"]\n", minutes),
      "x.yaml", {});
  EXPECT_TRUE(parsed.job);
  return *parsed.job;
}

class UnseenEnd : public testing::Test {
 protected:
  bool shown(const std::string& status, const Job& job) {
    const auto path =
        place_.store({.folder = "r" + status, .job_id = "7", .status = status, .trains = false});
    EXPECT_TRUE(write_file(path + "/job.yaml", job_text(job_of(5))));
    place_.system.answers["squeue --noheader --format=" + std::string(queue_format) + " --jobs=7"] =
        {0, "", ""};
    return show_unseen_end(place_.system, {.path = path, .resumed = true}, job);
  }
  RunPlace place_;
};

TEST_F(UnseenEnd, OfACompletedJobIsShown) {
  EXPECT_TRUE(shown("completed", job_of(5)));
  EXPECT_THAT(place_.system.printed, HasSubstr("completed"));
  EXPECT_THAT(place_.system.logged, HasSubstr("the same command once more starts it again"));
}

TEST_F(UnseenEnd, OfAnotherOrAFailedJobIsNone) {
  EXPECT_FALSE(shown("failed", job_of(5))) << "it is to continue";
  EXPECT_FALSE(shown("completed", job_of(7))) << "it is another job";
}

}  // namespace
}  // namespace dllaunch

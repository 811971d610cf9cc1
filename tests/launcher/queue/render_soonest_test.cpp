#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/queue/soonest.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double now = 1'795'723'000;

Soonest two_shapes() {
  Soonest found{
      .trains = true, .knows_queue = true, .tests = 2, .test_seconds = 0.25, .now_s = now};
  found.ranked = {{.shape = {.sets = {"resources.time=11"},
                             .nodes = 2,
                             .batch_per_rank = 8,
                             .partition = "gpu",
                             .limit_minutes = 11,
                             .slices = 2,
                             .run_s = 900},
                   .slurm_s = now + 4000,
                   .gap_s = now,
                   .start_s = now,
                   .finish_s = now + 1500,
                   .node_hours = 0.6},
                  {.shape = {.nodes = 4,
                             .batch_per_rank = 4,
                             .partition = "gpu",
                             .limit_minutes = 30,
                             .run_s = 1800},
                   .slurm_s = now + 4000,
                   .gap_s = now + 4200,
                   .start_s = now + 4000,
                   .finish_s = now + 5800,
                   .node_hours = 2}};
  found.refused = {
      "8 nodes of 1 rank, 15 min: allocation failure: Node count specification invalid"};
  return found;
}

TEST(RenderSoonest, TheBestFirstAndWhatItRestsOn) {
  const auto text = render_soonest(two_shapes());
  EXPECT_LT(text.find("2 x 11:00"), text.find("as written"));
  EXPECT_THAT(text, HasSubstr("if backfilled\n"));
  EXPECT_THAT(text, HasSubstr("in 1:06:40"));
  EXPECT_THAT(text, HasSubstr("2 calls of sbatch in 0.2 s; 1 shape refused"));
  EXPECT_THAT(text, HasSubstr("refused: 8 nodes of 1 rank"));
  auto blind = two_shapes();
  blind.knows_queue = false;
  blind.why_no_queue = "Slurm does not show the jobs of others";
  EXPECT_THAT(render_soonest(blind),
              HasSubstr("without backfill: Slurm does not show the jobs of others"));
}

TEST(RenderSoonest, AsJson) {
  const auto json = to_json(two_shapes());
  ASSERT_EQ(json.at("shapes").size(), 2u);
  EXPECT_EQ(value_at<int>(json.at("shapes")[0], "slices"), 2);
  EXPECT_EQ(value_at<double>(json.at("shapes")[0], "backfill_start"), now);
  EXPECT_TRUE(json.at("shapes")[1].at("qos").is_null());
  EXPECT_EQ(value_at<int>(json, "sbatch_calls"), 2);
  EXPECT_TRUE(json.at("estimates").at("median_off_s").is_null());
}

TEST(RenderSoonest, TheChoiceInALine) {
  auto found = two_shapes();
  const auto text = choice_of(found, found.ranked[0]);
  EXPECT_THAT(text, HasSubstr("2 slices of 11 min"));
  EXPECT_THAT(text, HasSubstr("1:11:40 before the job as written"));
  EXPECT_THAT(choice_of(found, found.ranked[1]), HasSubstr("the job as written finishes first"));
}

TEST(RenderSoonest, AnotherQosIsShownAndNotTaken) {
  auto found = two_shapes();
  found.ranked[0].shape.other_qos = true;
  found.ranked[0].gap_s.reset();
  found.without_start = 3;
  const auto text = render_soonest(found);
  EXPECT_THAT(text, HasSubstr("not by --soonest\n"));
  EXPECT_THAT(text, Not(HasSubstr("if backfilled"))) << "no row has the mark";
  EXPECT_THAT(text, HasSubstr("; no start known of 3 shapes"));
  const auto best = choose(found);
  ASSERT_TRUE(best);
  EXPECT_TRUE(best->shape.as_written());
  found.ranked.pop_back();
  EXPECT_FALSE(choose(found));
}

}  // namespace
}  // namespace dllaunch

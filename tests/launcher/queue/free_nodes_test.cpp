#include "launcher/queue/free_nodes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/launcher/sample_plans.hpp"
#include "tests/support/tier.hpp"

namespace dllaunch {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double now = 1000;

TEST(FreeNodes, FindsTheFirstGapThatIsLongEnough) {
  FreeNodes free(now, 4);
  free.take(now, 1600, 3);
  free.take(1300, 1900, 1);
  EXPECT_EQ(free.earliest(1, 300, now), now);
  EXPECT_EQ(free.earliest(1, 301, now), 1600);
  EXPECT_EQ(free.earliest(1, 60, 1200), 1200);
  EXPECT_EQ(free.earliest(1, 60, 1250), 1600) << "it would reach into the next job";
  EXPECT_EQ(free.earliest(3, 10, now), 1600);
  EXPECT_EQ(free.earliest(4, 10, now), 1900);
  EXPECT_EQ(free.earliest(5, 10, now), never);
  free.take(2000, never, 1);
  EXPECT_EQ(free.earliest(4, 100, now), 1900);
  EXPECT_EQ(free.earliest(4, 101, now), never);
}

/// Against the definition, second by second.
TEST(FreeNodes, AgreesWithCounting) {
  std::mt19937 random(7);
  constexpr int span = 60;
  for (int round = 0; round < rounds_here(2000); ++round) {
    const int nodes = 1 + static_cast<int>(random() % 6);
    FreeNodes free(0, nodes);
    std::vector<int> level(3 * span, nodes);
    for (int job = 0; job < 8; ++job) {
      const int from = static_cast<int>(random() % span);
      const int to = from + static_cast<int>(random() % 20);
      const int taken = static_cast<int>(random() % 4);
      free.take(from, to, taken);
      for (int i = from; i < to; ++i) level[i] -= taken;
    }
    const int wanted = 1 + static_cast<int>(random() % nodes);
    const int length = 1 + static_cast<int>(random() % 30);
    const int after = static_cast<int>(random() % span);
    int expected = after;
    for (int i = after; i < expected + length; ++i)
      if (level[i] < wanted) expected = i + 1;
    EXPECT_EQ(free.earliest(wanted, length, after), expected) << "round " << round;
  }
}

SlurmFacts eight_nodes() {
  auto slurm = *small_cluster().slurm;
  auto& hosts = slurm.partitions[0].node_types[0].hosts;
  hosts = {"n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"};
  return slurm;
}

std::vector<std::string> hosts_of(const SlurmFacts& slurm) {
  return slurm.partitions[0].node_types[0].hosts;
}

QueueRow running(std::vector<std::string> hosts, double start, double limit) {
  return {.partitions = {"batch"},
          .nodes = static_cast<int>(hosts.size()),
          .limit_s = limit,
          .start_s = start,
          .hosts = std::move(hosts)};
}
QueueRow waiting(int nodes, std::optional<double> start, double limit) {
  return {
      .waits = true, .partitions = {"batch"}, .nodes = nodes, .limit_s = limit, .start_s = start};
}

TEST(NodeForecast, OfWhatRunsAndWaits) {
  const auto slurm = eight_nodes();
  const QueueView queue{.rows = {running({"n1", "n2", "n3", "n4", "n5", "n6"}, now - 300, 900),
                                 waiting(8, now + 600, 1200), waiting(2, std::nullopt, 3600)},
                        .busy = {}};
  const auto nodes = forecast_nodes(queue, slurm, hosts_of(slurm), "batch", now);
  EXPECT_EQ(nodes.free.earliest(2, 600, now), now) << "before the wide job";
  EXPECT_EQ(nodes.free.earliest(2, 601, now), now + 1800) << "after it";
  EXPECT_EQ(nodes.free.earliest(8, 60, now), now + 1800 + 3600)
      << "the job that Slurm has not planned comes first";
  EXPECT_EQ(nodes.running.earliest(8, 60, now), now + 600);
  EXPECT_DOUBLE_EQ(nodes.waiting_s, 1200 + 2 * 3600 / 8.0);
}

TEST(NodeForecast, LeavesOutWhatIsBrokenReservedOrElsewhere) {
  auto slurm = eight_nodes();
  slurm.outages = {{.hosts = {"n8"}, .state = "DOWN", .reason = ""}};
  slurm.reservations = {{.name = "maint", .start = 5000, .end = 6000, .hosts = {"n1", "n2"}}};
  QueueRow elsewhere = waiting(5, now + 10, 100);
  elsewhere.partitions = {"other"};
  const QueueView queue{.rows = {elsewhere, running({"x1", "n7"}, now - 100, 50)}, .busy = {"n6"}};
  const auto nodes = forecast_nodes(queue, slurm, hosts_of(slurm), "batch", now);
  EXPECT_EQ(nodes.free.nodes(), 7);
  EXPECT_EQ(nodes.free.earliest(8, 10, now), never);
  EXPECT_EQ(nodes.free.earliest(7, 10, now), never) << "a job that is not shown holds n6";
  EXPECT_EQ(nodes.free.earliest(6, 10, now), now + 60) << "a job past its limit ends soon";
  EXPECT_EQ(nodes.free.earliest(5, 5000, now), 6000) << "not into the reservation";
}

TEST(NodeForecast, AReservedNodeWithAJobCountsOnce) {
  auto slurm = eight_nodes();
  slurm.reservations = {{.name = "course", .start = 500, .end = 2000, .hosts = {"n1", "n2"}}};
  const QueueView queue{.rows = {running({"n1"}, now - 100, 600), running({"n2"}, now, 3000)},
                        .busy = {"n1"}};
  const auto nodes = forecast_nodes(queue, slurm, hosts_of(slurm), "batch", now);
  EXPECT_EQ(nodes.free.earliest(6, 10, now), now);
  EXPECT_EQ(nodes.free.earliest(7, 10, now), 2000) << "the reservation ends after the job";
  EXPECT_EQ(nodes.free.earliest(8, 10, now), now + 3000) << "the job ends after the reservation";
}

TEST(NodeForecast, TasksOfAnArrayCountOneByOne) {
  const auto slurm = eight_nodes();
  auto array = waiting(8, now + 5, 100);
  array.tasks = 3;
  const auto nodes = forecast_nodes({.rows = {array}}, slurm, hosts_of(slurm), "batch", now);
  EXPECT_EQ(nodes.free.earliest(1, 10, now), now + 300);
}

}  // namespace
}  // namespace dllaunch

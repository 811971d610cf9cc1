#include "runtime/allreduce/model/allreduce_model.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace dllaunch {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

TEST(AllReduceModel, CostsOfTheFormulasInTheDocs) {
  const auto cost = [](std::string_view name, std::size_t bytes, JobShape shape) {
    return *cost_between_nodes(name, bytes, shape);
  };
  EXPECT_EQ(cost("hierarchical", 8 * mib, {4, 2}).messages, 6);
  EXPECT_EQ(cost("hierarchical", 8 * mib, {4, 2}).bytes, 12.0 * mib);
  EXPECT_FALSE(cost_between_nodes("hierarchical", 1024, {4, 1})) << "whole, or in parts";
  EXPECT_EQ(cost("hierarchical", 8 * mib, {64, 1}).messages, 12) << "MPI's own: 2 log2 M";
  EXPECT_EQ(cost("ring", 8 * mib, {2, 2}).messages, 6);
  EXPECT_EQ(cost("ring", 8 * mib, {2, 2}).bytes, 12.0 * mib);
  EXPECT_EQ(cost("parameter-server", mib, {4, 2}).bytes, 12.0 * mib) << "six ranks are elsewhere";
  EXPECT_FALSE(cost_between_nodes("mpi", mib, {4, 1}));
  EXPECT_FALSE(cost_between_nodes("hierarchical", mib, {1, 8})) << "nothing leaves the node";
}

TEST(AllReduceModel, CostsAmongRanksThatAreAlike) {
  EXPECT_EQ(cost_among_ranks("hierarchical", mib, 4).messages, 1) << "a call";
  EXPECT_EQ(cost_among_ranks("hierarchical", mib, 8).bytes, 1.0 * mib);
  for (const char* name : {"ring", "mpi", "nccl"}) {
    EXPECT_EQ(cost_among_ranks(name, mib, 4).messages, 6) << name;
    EXPECT_EQ(cost_among_ranks(name, mib, 4).bytes, 1.5 * mib) << name;
  }
  EXPECT_EQ(cost_among_ranks("parameter-server", mib, 4).bytes, 6.0 * mib);
  EXPECT_EQ(cost_among_ranks("ring", mib, 1).messages, 0);
}

TEST(AllReduceModel, PredictsTheLevelsThatWereMeasured) {
  const AllReduceModel levels{.communicator = "hierarchical",
                              .nodes = 2,
                              .among_ranks = LinkModel{1, 10, 0},
                              .between_nodes = LinkModel{20, 1, 0}};
  const double n = 8 * mib;
  EXPECT_EQ(predict_us(levels, 8 * mib, {1, 1}), 0);
  EXPECT_NEAR(*predict_us(levels, 8 * mib, {1, 4}), 1 + n / 10e3, 1e-6);
  EXPECT_NEAR(*predict_us(levels, 8 * mib, {4, 4}), 1 + n / 10e3 + 6 * 20 + 1.5 * n / 1e3, 1e-6);
  EXPECT_GT(predict_us(levels, 4, {4, 4}), 6 * 20) << "at most";
  AllReduceModel here = levels;
  here.nodes = 1;
  here.between_nodes.reset();
  EXPECT_FALSE(predict_us(here, mib, {2, 4})) << "no network was measured";
  const AllReduceModel ring{.communicator = "ring", .nodes = 1, .among_ranks = LinkModel{5, 2, 0}};
  EXPECT_NEAR(*predict_us(ring, mib, {1, 4}), 6 * 5 + 1.5 * mib / 2e3, 1e-6);
  EXPECT_FALSE(predict_us(ring, mib, {2, 2}));
}

std::vector<LinkSample> samples_of(const LinkModel& truth, double noise) {
  std::mt19937 random(1);
  std::normal_distribution<double> factor(1, noise);
  std::vector<LinkSample> samples;
  for (std::size_t bytes = 1024; bytes <= 64 * mib; bytes *= 2) {
    const MessageCost cost{2, static_cast<double>(bytes)};
    samples.push_back({cost, predict_us(truth, cost) * (noise > 0 ? factor(random) : 1)});
  }
  return samples;
}

TEST(AllReduceModel, FindsLatencyAndBandwidth) {
  for (const LinkModel truth : {LinkModel{25, 0.125, 0}, LinkModel{1.5, 25, 0}}) {
    const auto exact = fit_link(samples_of(truth, 0));
    ASSERT_TRUE(exact);
    EXPECT_NEAR(exact->latency_us, truth.latency_us, 1e-6 * truth.latency_us);
    EXPECT_NEAR(exact->gbs, truth.gbs, 1e-6 * truth.gbs);
    EXPECT_NEAR(exact->error, 0, 1e-6);
    const auto noisy = fit_link(samples_of(truth, 0.05));
    ASSERT_TRUE(noisy);
    EXPECT_NEAR(noisy->latency_us, truth.latency_us, 0.1 * truth.latency_us);
    EXPECT_NEAR(noisy->gbs, truth.gbs, 0.1 * truth.gbs);
    EXPECT_NEAR(noisy->error, 0.05, 0.03);
  }
}

TEST(AllReduceModel, NeitherNumberIsNegative) {
  // The larger, the slower per byte: a straight line would start below zero.
  const std::vector<LinkSample> samples = {{{1, 1000}, 0.5}, {{1, 2000}, 2}, {{1, 4000}, 8}};
  const auto model = fit_link(samples);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->latency_us, 0);
  EXPECT_GT(model->gbs, 0);
}

TEST(AllReduceModel, RejectsSamplesThatDetermineNothing) {
  EXPECT_FALSE(fit_link({}));
  const LinkSample one{{1, 1000}, 1};
  EXPECT_FALSE(fit_link(std::vector<LinkSample>{one, one}));
  EXPECT_FALSE(fit_link(std::vector<LinkSample>{one, one, one})) << "one size three times";
}

}  // namespace
}  // namespace dllaunch

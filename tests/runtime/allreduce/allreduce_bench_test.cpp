#include "runtime/allreduce/allreduce_bench.hpp"
#include "runtime/communicators/opening/communicators.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace dllaunch {
namespace {

TEST(AllReduceBench, MeasuresEverySizeAndChecksIt) {
  auto solo = open_communicator("solo", RankEnv{});
  ASSERT_TRUE(solo);
  std::vector<AllReduceRow> rows;
  measure_all_reduce(**solo, {.min_bytes = 12, .max_bytes = 100, .iterations = 2},
                     [&](const AllReduceRow& row) { rows.push_back(row); });
  ASSERT_EQ(rows.size(), 4u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].bytes, 12u << i);
    EXPECT_EQ(rows[i].ranks, 1);
    EXPECT_EQ(rows[i].communicator, "solo");
    EXPECT_GT(rows[i].us, 0);
    EXPECT_EQ(rows[i].busbw_gbs, 0) << "one rank needs no link";
    EXPECT_TRUE(rows[i].correct);
  }
}

/// Skips the last element of every all-reduce of more than one.
class Forgetful final : public Communicator {
 public:
  explicit Forgetful(std::unique_ptr<Communicator> inner) : inner_(std::move(inner)) {}
  std::string_view name() const override { return "forgetful"; }
  int rank() const override { return 0; }
  int size() const override { return 1; }
  Pending all_reduce(void* data, std::size_t count, DType, ReduceOp) override {
    if (count > 1) static_cast<float*>(data)[count - 1] += 1;
    return {};
  }
  Pending reduce_scatter(void*, std::size_t, DType, ReduceOp) override { return {}; }
  Pending all_gather(void*, std::size_t, DType) override { return {}; }
  Pending broadcast(void*, std::size_t, DType, int) override { return {}; }
  Pending barrier() override { return {}; }
  bool test(Pending) override { return true; }
  void wait(Pending) override {}
  std::span<std::byte> allocate(std::size_t bytes) override { return inner_->allocate(bytes); }

 private:
  std::unique_ptr<Communicator> inner_;
};

TEST(AllReduceBench, DetectsOneWrongElement) {
  Forgetful forgetful(*open_communicator("solo", RankEnv{}));
  bool correct = true;
  measure_all_reduce(forgetful, {.min_bytes = 64, .max_bytes = 64, .iterations = 1},
                     [&](const AllReduceRow& row) { correct = row.correct; });
  EXPECT_FALSE(correct);
}

TEST(AllReduceBench, FollowsTheContract) {
  const AllReduceRow row{.communicator = "mpi",
                         .ranks = 4,
                         .bytes = 1024,
                         .us = 2.5,
                         .algbw_gbs = 0.4096,
                         .busbw_gbs = 0.6144,
                         .correct = true};
  EXPECT_EQ(to_json(row),
            R"({"backend": "mpi", "ranks": 4, "bytes": 1024, "us": 2.5000, "algbw_gbs": 0.409600, )"
            R"("busbw_gbs": 0.614400, "correct": true})");
  EXPECT_EQ(all_reduce_table_head().size(), to_table_line(row).size() - sizeof "correct" + 1);
}

}  // namespace
}  // namespace dllaunch

// Runs on 1 to 8 real ranks: every collective gives the same bits over TCP as over MPI.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/runtime/communicators/on_ranks.hpp"

namespace dllaunch {
namespace {

using Bytes = std::vector<std::byte>;

constexpr DType types[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i64, DType::u8};
constexpr ReduceOp operations[] = {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::max};
constexpr std::size_t counts[] = {1, 3, 1021, 70'001};

/// Any bits, so NaNs and infinities among them; the same for both transports.
Bytes random_bytes(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  Bytes all(bytes);
  for (std::byte& each : all) each = static_cast<std::byte>(random());
  return all;
}

/// What a collective leaves that is defined, over each of two communicators.
template <typename Collective>
void expect_same(Communicator& one, Communicator& other, std::size_t bytes, Collective collective) {
  const Bytes before =
      random_bytes(bytes, static_cast<unsigned>(100 * bytes) + static_cast<unsigned>(one.rank()));
  Bytes by_one = before;
  Bytes by_other = before;
  collective(one, by_one);
  collective(other, by_other);
  EXPECT_TRUE(by_one == by_other);
}

class SameBits : public testing::TestWithParam<int> {
 protected:
  SameBits()
      : mpi(in_nodes_of(GetParam())),
        tcp(in_nodes_of(GetParam(), all_tcp_peers())),
        ranks(static_cast<std::size_t>(mpi->size())) {}

  std::unique_ptr<Communicator> mpi;
  std::unique_ptr<Communicator> tcp;
  std::size_t ranks;
};
INSTANTIATE_TEST_SUITE_P(NodesOf, SameBits, testing::Values(1, 2, 3));

TEST_P(SameBits, OfReductions) {
  for (const DType type : types) {
    for (const ReduceOp op : operations) {
      for (const std::size_t count : counts) {
        SCOPED_TRACE(std::string(to_string(type)) + " " + std::string(to_string(op)) + " " +
                     std::to_string(count));
        const std::size_t bytes = count * bytes_of(type);
        expect_same(*mpi, *tcp, bytes, [&](Communicator& over, Bytes& data) {
          over.wait(over.all_reduce(data.data(), count, type, op));
        });
        expect_same(*mpi, *tcp, ranks * bytes, [&](Communicator& over, Bytes& data) {
          over.wait(over.reduce_scatter(data.data(), count, type, op));
          const auto own = data.begin() + static_cast<std::ptrdiff_t>(bytes) * over.rank();
          data = Bytes(own, own + static_cast<std::ptrdiff_t>(bytes));
        });
      }
    }
  }
}

TEST_P(SameBits, OfCopies) {
  for (const std::size_t count : counts) {
    expect_same(*mpi, *tcp, ranks * count, [&](Communicator& over, Bytes& data) {
      over.wait(over.all_gather(data.data(), count, DType::u8));
    });
    for (int root = 0; root < mpi->size(); ++root) {
      expect_same(*mpi, *tcp, count, [&](Communicator& over, Bytes& data) {
        over.wait(over.broadcast(data.data(), count, DType::u8, root));
      });
    }
  }
}

}  // namespace
}  // namespace dllaunch

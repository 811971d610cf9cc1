// The interface of every communicator, on 1, 2, 3, 4 and 7 ranks (odd numbers find the bugs).
#include "runtime/communicators/communicator.hpp"
#include "tests/support/tier.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/communicators/mpi/mpi.hpp"
#include "runtime/communicators/opening/communicators.hpp"
#include "runtime/communicators/ring/ring.hpp"
#include "runtime/numerics/float16.hpp"
#include "tests/runtime/communicators/on_ranks.hpp"

namespace dllaunch {
namespace {

struct Opener {
  std::string name;
  Result<std::unique_ptr<Communicator>> (*open)(const RankEnv& env);
};

template <int ranks_per_node, auto peers>
Result<std::unique_ptr<Communicator>> open_in_nodes_of(const RankEnv&) {
  return in_nodes_of(ranks_per_node, peers());
}
Result<std::unique_ptr<Communicator>> open_in_leaves(const RankEnv&) {
  return in_leaves_of_nodes_of(2, all_tcp_peers());
}
Result<std::unique_ptr<Communicator>> open_ring_over_tcp(const RankEnv&) {
  return open_ring(all_tcp_peers());
}

std::vector<Opener> openers() {
  std::vector<Opener> all;
  for (const CommunicatorEntry& entry : communicators()) {
    if (entry.name == "nccl") continue;  // GPU memory: nccl_test.cpp
    all.push_back({std::string(entry.name), entry.open});
  }
  all.push_back(
      {"mpi_in_chunks_of_501", [](const RankEnv& env) { return open_mpi_in_chunks(env, 501); }});
  // Several nodes, of equal and unequal sizes, on one machine.
  all.push_back({"hierarchical_in_nodes_of_1", open_in_nodes_of<1, all_peers>});
  all.push_back({"hierarchical_in_nodes_of_2", open_in_nodes_of<2, all_peers>});
  all.push_back({"hierarchical_in_nodes_of_3", open_in_nodes_of<3, all_peers>});
  all.push_back({"hierarchical_over_tcp_in_nodes_of_1", open_in_nodes_of<1, all_tcp_peers>});
  all.push_back({"hierarchical_over_tcp_in_nodes_of_2", open_in_nodes_of<2, all_tcp_peers>});
  all.push_back({"hierarchical_over_tcp_in_leaves_of_nodes_of_2", open_in_leaves});
  all.push_back({"ring_over_tcp", open_ring_over_tcp});
  return all;
}

template <typename T>
constexpr DType dtype_of = DType::f32;
template <>
constexpr DType dtype_of<double> = DType::f64;
template <>
constexpr DType dtype_of<std::int64_t> = DType::i64;
template <>
constexpr DType dtype_of<std::uint8_t> = DType::u8;
template <>
constexpr DType dtype_of<Float16> = DType::f16;
template <>
constexpr DType dtype_of<BFloat16> = DType::bf16;

// 16-bit floats are compared by value.
template <typename T>
T from_number(double x) {
  return static_cast<T>(x);
}
template <>
Float16 from_number<Float16>(double x) {
  return to_float16(static_cast<float>(x));
}
template <>
BFloat16 from_number<BFloat16>(double x) {
  return to_bfloat16(static_cast<float>(x));
}
double to_number(Float16 x) {
  return static_cast<double>(to_float(x));
}
double to_number(BFloat16 x) {
  return static_cast<double>(to_float(x));
}
template <typename T>
double to_number(T x) {
  return static_cast<double>(x);
}

/// `count` elements that begin `skew` bytes after an aligned address, with guard bytes on both
/// sides.
template <typename T>
class Fenced {
 public:
  explicit Fenced(std::size_t count, std::size_t skew = 0)
      : count_(count), skew_(skew), bytes_(fence + skew + count * sizeof(T) + fence, mark) {}

  void* data() { return bytes_.data() + fence + skew_; }
  std::size_t size() const { return count_; }
  T get(std::size_t i) const {
    T value;
    std::memcpy(&value, bytes_.data() + fence + skew_ + i * sizeof(T), sizeof value);
    return value;
  }
  void set(std::size_t i, T value) {
    std::memcpy(bytes_.data() + fence + skew_ + i * sizeof(T), &value, sizeof value);
  }
  bool fences_stand() const {
    const auto is_mark = [](std::byte b) { return b == mark; };
    return std::all_of(bytes_.begin(), bytes_.begin() + fence + static_cast<long>(skew_),
                       is_mark) &&
           std::all_of(bytes_.end() - fence, bytes_.end(), is_mark);
  }

 private:
  static constexpr long fence = 64;
  static constexpr std::byte mark{0xA5};
  std::size_t count_;
  std::size_t skew_;
  std::vector<std::byte> bytes_;
};

/// Small integers: sums over 8 ranks are exact in every type.
double number_of(int rank, std::size_t i) {
  return static_cast<double>((static_cast<std::size_t>(rank) * 7 + i * 3) % 31);
}

template <typename T>
T value_of(int rank, std::size_t i) {
  return from_number<T>(number_of(rank, i));
}

template <typename T>
double reduced(int ranks, std::size_t i, ReduceOp op) {
  double result = number_of(0, i);
  for (int rank = 1; rank < ranks; ++rank) {
    const double next = number_of(rank, i);
    if (op == ReduceOp::sum || op == ReduceOp::average) result += next;
    if (op == ReduceOp::min) result = std::min(result, next);
    if (op == ReduceOp::max) result = std::max(result, next);
  }
  if (op != ReduceOp::average) return result;
  // As the type itself divides; 16-bit floats in fp32.
  if constexpr (std::is_same_v<T, double>) return result / ranks;
  if constexpr (std::is_integral_v<T>) return std::floor(result / ranks);
  const float average = static_cast<float>(result) / static_cast<float>(ranks);
  return to_number(from_number<T>(static_cast<double>(average)));
}

const std::vector<std::size_t> sizes = {0, 1, 2, 3, 7, 8, 63, 64, 65, 1000, 4097};
constexpr ReduceOp every_op[] = {ReduceOp::sum, ReduceOp::average, ReduceOp::min, ReduceOp::max};

void PrintTo(const Opener& one, std::ostream* out) {
  *out << one.name;
}

class EveryCommunicator : public testing::TestWithParam<Opener> {
 protected:
  void SetUp() override {
    auto env = read_rank_env(process_environment());
    ASSERT_TRUE(env) << env.error().what;
    const bool every_size = full_tier();
    const bool usual_size = env->world_size <= 4 || env->world_size == 7;
    if (!usual_size && !every_size) GTEST_SKIP() << "5, 6 and 8 ranks: scripts/test --full";
    if (GetParam().name == "solo" && env->world_size > 1) GTEST_SKIP() << "solo is for one rank";
    communicator_ = open(*env);
    ASSERT_EQ(communicator_->rank(), env->rank);
    ASSERT_EQ(communicator_->size(), env->world_size);
  }

  static std::unique_ptr<Communicator> open(const RankEnv& env) {
    auto opened = GetParam().open(env);
    if (!opened) throw std::runtime_error(opened.error().what);
    return *std::move(opened);
  }

  int rank() const { return communicator_->rank(); }
  int size() const { return communicator_->size(); }

  template <typename T>
  Fenced<T> mine(std::size_t count, std::size_t skew = 0) const {
    Fenced<T> buffer(count, skew);
    for (std::size_t i = 0; i < count; ++i) buffer.set(i, value_of<T>(rank(), i));
    return buffer;
  }

  template <typename T>
  void check_all_reduce(std::size_t count, ReduceOp op, std::size_t skew) {
    Fenced<T> buffer = mine<T>(count, skew);
    communicator_->wait(communicator_->all_reduce(buffer.data(), count, dtype_of<T>, op));
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(to_number(buffer.get(i)), reduced<T>(size(), i, op))
          << "element " << i << " of " << count;
    }
    ASSERT_TRUE(buffer.fences_stand());
  }

  template <typename T>
  void check_reduce_scatter(std::size_t count, ReduceOp op, std::size_t skew) {
    const auto first = static_cast<std::size_t>(rank()) * count;
    Fenced<T> buffer = mine<T>(count * static_cast<std::size_t>(size()), skew);
    communicator_->wait(communicator_->reduce_scatter(buffer.data(), count, dtype_of<T>, op));
    for (std::size_t i = first; i < first + count; ++i) {
      ASSERT_EQ(to_number(buffer.get(i)), reduced<T>(size(), i, op)) << "element " << i;
    }
    ASSERT_TRUE(buffer.fences_stand());
  }

  template <typename T>
  void check_all_gather(std::size_t count, std::size_t skew) {
    const auto first = static_cast<std::size_t>(rank()) * count;
    Fenced<T> buffer(count * static_cast<std::size_t>(size()), skew);
    for (std::size_t i = first; i < first + count; ++i) buffer.set(i, value_of<T>(rank(), i));
    communicator_->wait(communicator_->all_gather(buffer.data(), count, dtype_of<T>));
    for (std::size_t i = 0; i < buffer.size(); ++i) {
      ASSERT_EQ(to_number(buffer.get(i)), number_of(static_cast<int>(i / count), i))
          << "element " << i;
    }
    ASSERT_TRUE(buffer.fences_stand());
  }

  template <typename T>
  void check_broadcast(std::size_t count, int root, std::size_t skew) {
    Fenced<T> buffer = mine<T>(count, skew);
    communicator_->wait(communicator_->broadcast(buffer.data(), count, dtype_of<T>, root));
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(to_number(buffer.get(i)), number_of(root, i));
    ASSERT_TRUE(buffer.fences_stand());
  }

  template <typename T>
  void check_not_finite_values();
  template <typename T>
  std::vector<T> reduce_awkward_values(std::size_t count);
  template <typename T>
  void check_bit_identity(std::size_t count);

  /// Whether all ranks have the same bytes.
  bool same_bytes_everywhere(const void* data, std::size_t bytes) {
    std::vector<std::uint8_t> of_rank_0(bytes);
    std::memcpy(of_rank_0.data(), data, bytes);
    communicator_->wait(communicator_->broadcast(of_rank_0.data(), bytes, DType::u8, 0));
    return std::memcmp(of_rank_0.data(), data, bytes) == 0;
  }

  std::unique_ptr<Communicator> communicator_;
};

INSTANTIATE_TEST_SUITE_P(Communicators, EveryCommunicator, testing::ValuesIn(openers()),
                         [](const auto& each) {
                           std::string name = each.param.name;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_P(EveryCommunicator, ReducesEveryTypeSizeAndOperation) {
  for (const std::size_t count : sizes) {
    for (const ReduceOp op : every_op) {
      for (const std::size_t skew : {0u, 1u}) {
        check_all_reduce<float>(count, op, skew);
        check_all_reduce<double>(count, op, skew);
        check_all_reduce<std::int64_t>(count, op, skew);
        check_all_reduce<std::uint8_t>(count, op, skew);
        check_all_reduce<Float16>(count, op, skew);
        check_all_reduce<BFloat16>(count, op, skew);
      }
    }
  }
}

TEST_P(EveryCommunicator, ScattersReductions) {
  for (const std::size_t count : sizes) {
    for (const std::size_t skew : {0u, 1u}) {
      check_reduce_scatter<float>(count, ReduceOp::sum, skew);
      check_reduce_scatter<double>(count, ReduceOp::max, skew);
      check_reduce_scatter<std::int64_t>(count, ReduceOp::min, skew);
      check_reduce_scatter<std::uint8_t>(count, ReduceOp::sum, skew);
      check_reduce_scatter<float>(count, ReduceOp::average, skew);
      check_reduce_scatter<Float16>(count, ReduceOp::average, skew);
      check_reduce_scatter<BFloat16>(count, ReduceOp::sum, skew);
    }
  }
}

TEST_P(EveryCommunicator, GathersEveryRanksBlock) {
  for (const std::size_t count : sizes) {
    for (const std::size_t skew : {0u, 1u}) {
      check_all_gather<float>(count, skew);
      check_all_gather<double>(count, skew);
      check_all_gather<std::int64_t>(count, skew);
      check_all_gather<std::uint8_t>(count, skew);
    }
  }
}

// Larger than any piece that a communicator moves at once, and not a multiple of it.
TEST_P(EveryCommunicator, MovesMoreThanOnePiece) {
  const std::size_t count = GetParam().name == "mpi_in_chunks_of_501" ? 3001 : 600'001;
  check_all_reduce<float>(count, ReduceOp::sum, 1);
  check_all_reduce<Float16>(count, ReduceOp::average, 0);
  check_reduce_scatter<float>(count / 2, ReduceOp::max, 0);
  check_all_gather<std::int64_t>(count / 4, 0);
  check_broadcast<double>(count, size() - 1, 0);
}

TEST_P(EveryCommunicator, BroadcastsFromEveryRoot) {
  for (int root = 0; root < size(); ++root) {
    for (const std::size_t count : sizes) {
      check_broadcast<float>(count, root, 0);
      check_broadcast<double>(count, root, 1);
      check_broadcast<std::int64_t>(count, root, 0);
      check_broadcast<std::uint8_t>(count, root, 1);
    }
  }
}

/// Element 3*r+k is special on rank r only.
template <typename T>
void EveryCommunicator::check_not_finite_values() {
  using limits = std::numeric_limits<T>;
  const auto ranks = static_cast<std::size_t>(size());
  for (const ReduceOp op : every_op) {
    Fenced<T> buffer(3 * ranks + 1);
    for (std::size_t i = 0; i < buffer.size(); ++i) buffer.set(i, T{1});
    const auto first = 3 * static_cast<std::size_t>(rank());
    buffer.set(first, limits::quiet_NaN());
    buffer.set(first + 1, limits::infinity());
    buffer.set(first + 2, -limits::infinity());
    // Opposite infinities on the first and last rank.
    if (rank() == 0) buffer.set(3 * ranks, limits::infinity());
    if (rank() == size() - 1 && size() > 1) buffer.set(3 * ranks, -limits::infinity());

    communicator_->wait(communicator_->all_reduce(buffer.data(), buffer.size(), dtype_of<T>, op));
    const bool alone = size() == 1;
    for (std::size_t r = 0; r < ranks; ++r) {
      EXPECT_TRUE(std::isnan(buffer.get(3 * r))) << "NaN of rank " << r;
      EXPECT_EQ(buffer.get(3 * r + 1), op == ReduceOp::min && !alone ? T{1} : limits::infinity());
      EXPECT_EQ(buffer.get(3 * r + 2), op == ReduceOp::max && !alone ? T{1} : -limits::infinity());
    }
    const T both = buffer.get(3 * ranks);
    if (alone || op == ReduceOp::max) {
      EXPECT_EQ(both, limits::infinity());
    } else if (op == ReduceOp::min) {
      EXPECT_EQ(both, -limits::infinity());
    } else {
      EXPECT_TRUE(std::isnan(both));
    }
  }
}

TEST_P(EveryCommunicator, KeepsNanAndInfinity) {
  check_not_finite_values<float>();
  check_not_finite_values<double>();
}

/// Values whose sum depends on the order of additions.
template <typename T>
std::vector<T> EveryCommunicator::reduce_awkward_values(std::size_t count) {
  std::mt19937_64 random(static_cast<std::uint64_t>(rank()) + 17);
  std::uniform_real_distribution<double> exponent(-20, 20);
  std::uniform_real_distribution<double> mantissa(-1, 1);
  std::vector<T> x(count);
  for (T& value : x) value = static_cast<T>(std::ldexp(mantissa(random), int(exponent(random))));
  communicator_->wait(communicator_->all_reduce(x.data(), count, dtype_of<T>, ReduceOp::sum));
  return x;
}

template <typename T>
void EveryCommunicator::check_bit_identity(std::size_t count) {
  const auto first = reduce_awkward_values<T>(count);
  EXPECT_TRUE(same_bytes_everywhere(first.data(), count * sizeof(T))) << count << " elements";
  const auto again = reduce_awkward_values<T>(count);
  EXPECT_EQ(std::memcmp(first.data(), again.data(), count * sizeof(T)), 0) << "differs by run";
}

TEST_P(EveryCommunicator, GivesTheSameBitsOnEveryRankAndEveryTime) {
  // Sizes on both sides of where MPI libraries change their algorithm.
  const bool small_only = GetParam().name == "mpi_in_chunks_of_501";
  for (const std::size_t count : {1u, 7u, 1000u, 16383u, 16385u, 100003u, 1000003u}) {
    if (small_only && count > 100003) continue;
    check_bit_identity<float>(count);
    check_bit_identity<double>(count);
  }
}

TEST_P(EveryCommunicator, ProgressesOnTestsOfNothing) {
  std::vector<double> x(100000, rank());
  const Pending pending = communicator_->all_reduce(x.data(), x.size(), DType::f64, ReduceOp::max);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  // Rarely calls test(pending): testing empty operations must make the progress.
  for (int tries = 1; std::chrono::steady_clock::now() < deadline; ++tries) {
    EXPECT_TRUE(communicator_->test(Pending{}));
    if (tries % 50 == 0 && communicator_->test(pending)) break;
    if (tries % 50 == 0) std::this_thread::yield();
  }
  ASSERT_TRUE(communicator_->test(pending));
  EXPECT_EQ(x.back(), size() - 1);
  EXPECT_TRUE(communicator_->test(pending)) << "done stays done";
  communicator_->wait(pending);
  communicator_->wait(Pending{});
}

TEST_P(EveryCommunicator, NeverReusesAnId) {
  std::int64_t last = 0;
  for (int i = 0; i < 200; ++i) {
    float x = 1;
    const Pending pending = communicator_->all_reduce(&x, 1, DType::f32, ReduceOp::sum);
    communicator_->wait(pending);
    if (pending.id == 0) continue;
    ASSERT_GT(pending.id, last);
    last = pending.id;
  }
}

TEST_P(EveryCommunicator, HoldsEveryRankAtABarrier) {
  if (size() == 1) GTEST_SKIP() << "one rank waits for no other";
  auto env = read_rank_env(process_environment());
  const auto signals = open(*env);
  std::uint8_t go = 0;
  if (rank() == 0) {
    const Pending barrier = communicator_->barrier();
    for (int i = 0; i < 200; ++i) ASSERT_FALSE(communicator_->test(barrier));
    signals->wait(signals->broadcast(&go, 1, DType::u8, 0));
    communicator_->wait(barrier);
  } else {
    signals->wait(signals->broadcast(&go, 1, DType::u8, 0));
    communicator_->wait(communicator_->barrier());
  }
}

TEST_P(EveryCommunicator, AllocatesZeroedAlignedMemory) {
  std::vector<std::span<std::byte>> pieces;
  for (const std::size_t bytes : {1u, 64u, 1001u, 1u << 20}) {
    const auto piece = communicator_->allocate(bytes);
    ASSERT_EQ(piece.size(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece.data()) % 64, 0u);
    EXPECT_TRUE(std::ranges::all_of(piece, [](std::byte b) { return b == std::byte{0}; }));
    std::ranges::fill(piece, std::byte{0xFF});
    pieces.push_back(piece);
  }
  EXPECT_TRUE(communicator_->allocate(0).empty());

  auto* x = reinterpret_cast<float*>(pieces.back().data());
  const std::size_t count = pieces.back().size() / sizeof(float);
  std::fill_n(x, count, 1.0f);
  communicator_->wait(communicator_->all_reduce(x, count, DType::f32, ReduceOp::sum));
  EXPECT_EQ(std::count(x, x + count, static_cast<float>(size())), static_cast<long>(count));
}

TEST(Communicators, AutoTakesSoloForOneRankElseHierarchical) {
  auto env = read_rank_env(process_environment());
  auto opened = open_communicator("auto", *env);
  ASSERT_TRUE(opened) << opened.error().what;
  EXPECT_EQ((*opened)->name(), env->world_size == 1 ? "solo" : "hierarchical");
}

Result<std::unique_ptr<Communicator>> refuse_nccl(std::unique_ptr<Communicator>& host,
                                                  const RankEnv&) {
  host->wait(host->barrier());
  return Error{ErrorKind::unavailable, "no nccl here", ""};
}

/// Every rank opens the same one, whatever each wants.
TEST(Communicators, AutomaticTakesNcclOnlyIfEveryRankWantsIt) {
  auto env = read_rank_env(process_environment());
  const auto opened_by = [&](bool on_gpu) {
    std::string why;
    auto opened = open_automatic(*env, on_gpu, why, refuse_nccl);
    if (!opened) throw std::runtime_error(opened.error().what);
    EXPECT_EQ((*opened)->name(), env->world_size == 1 ? "solo" : "hierarchical");
    (*opened)->wait((*opened)->barrier());
    return why;
  };
  EXPECT_EQ(opened_by(false), "");
  const bool several = env->world_size > 1;
  EXPECT_EQ(opened_by(true), several ? "no nccl here" : "");
  EXPECT_EQ(opened_by(env->rank > 0), several ? "not every rank has a GPU" : "");
}

TEST(Communicators, NamesTheKnownOnes) {
  const auto opened = open_communicator("gloo", RankEnv{});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::bad_request);
  EXPECT_EQ(opened.error().what, "unknown communicator \"gloo\"");
  EXPECT_EQ(opened.error().hint,
            "known: auto, solo, hierarchical, mpi, nccl, ring, parameter-server");
}

}  // namespace
}  // namespace dllaunch

// Compares this project's all-reduce with MPI's and with a bare loop, its lower bound, in one run:
//   mpirun -np 2 build/test/bin/bench_allreduce [MIN_BYTES MAX_BYTES]
// With more ranks or several nodes there is no loop. "over tcp" is ours without MPI below it; its
// ranks meet at MASTER_ADDR [127.0.0.1] and MASTER_PORT [29517]. Each round measures all of them in
// turn; prints medians over nine rounds, of the ratios too. 1 GB = 1e9 bytes.
#include <fmt/core.h>
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/hierarchical/hierarchical.hpp"
#include "runtime/communicators/hierarchical/node_memory.hpp"
#include "runtime/communicators/mpi/mpi_peers.hpp"
#include "runtime/communicators/opening/communicators.hpp"
#include "runtime/communicators/tcp/tcp_peers.hpp"
#include "runtime/rank/transport.hpp"

namespace {

using namespace dllaunch;

constexpr int rounds = 9;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Returns microseconds per call, averaged over `calls`, on the slowest rank.
double microseconds(int calls, const std::function<void()>& call) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = now_s();
  for (int k = 0; k < calls; ++k) call();
  double mine = (now_s() - start) / calls * 1e6;
  double slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// A way to reduce and its times, by round.
struct Contender {
  std::string_view name;
  std::function<void()> call;
  std::vector<double> us = {};
};

double median_ratio(const Contender& slower, const Contender& faster) {
  std::vector<double> ratios;
  for (int i = 0; i < rounds; ++i) {
    const auto at = static_cast<std::size_t>(i);
    ratios.push_back(slower.us[at] / faster.us[at]);
  }
  return median(ratios);
}

/// For two ranks with buffers in shared memory: each adds one half of both in place.
class BareLoop {
 public:
  BareLoop(int rank, std::byte* mine, std::byte* theirs, std::byte* my_flags,
           std::byte* their_flags)
      : rank_(rank),
        mine_(reinterpret_cast<float*>(mine)),
        theirs_(reinterpret_cast<float*>(theirs)),
        my_flag_(*reinterpret_cast<std::atomic<long>*>(my_flags)),
        their_flag_(*reinterpret_cast<std::atomic<long>*>(their_flags)) {}

  void operator()(std::size_t count) {
    meet();
    const std::size_t half = count / 2;
    const std::size_t begin = rank_ == 0 ? 0 : half;
    const std::size_t end = rank_ == 0 ? half : count;
    float* const __restrict a = mine_;
    float* const __restrict b = theirs_;
    for (std::size_t i = begin; i < end; ++i) a[i] = b[i] = a[i] + b[i];
    meet();
  }

 private:
  void meet() {
    my_flag_.store(++meetings_, std::memory_order_release);
    while (their_flag_.load(std::memory_order_acquire) < meetings_) {
    }
  }
  int rank_;
  float* mine_;
  float* theirs_;
  std::atomic<long>& my_flag_;
  std::atomic<long>& their_flag_;
  long meetings_ = 0;
};

/// Times all contenders on `bytes`; the first is ours.
void measure(int rank, std::size_t bytes, std::vector<Contender>& contenders) {
  const int calls = static_cast<int>(std::clamp<std::size_t>((32u << 20) / bytes, 2, 5000));
  // Warms up pages and connections. MPI may still hold data that it calls sent: a rank that waits
  // over TCP would not send it on, so all ranks leave one contender before they enter the next.
  for (Contender& contender : contenders) microseconds(1, contender.call);
  for (int round = 0; round < rounds; ++round) {
    for (Contender& contender : contenders) {
      contender.us.push_back(microseconds(calls, contender.call));
    }
  }
  if (rank != 0) return;
  fmt::print("{:>10}", bytes);
  for (const Contender& contender : contenders) {
    const double us = median(contender.us);
    fmt::print("  {} {:.2f} us {:.3f} GB/s", contender.name, us,
               static_cast<double>(bytes) / us / 1e3);
    if (&contender != contenders.data()) {
      fmt::print(" (x {:.2f})", median_ratio(contender, contenders[0]));
    }
  }
  fmt::print("\n");
  std::fflush(stdout);
}

std::size_t argument(int argc, char** argv, int index, std::size_t otherwise) {
  if (index >= argc) return otherwise;
  const std::string_view text = argv[index];
  std::size_t value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Returns nullptr, with a message, if the ranks cannot meet.
std::unique_ptr<Communicator> open_over_tcp(const RankEnv& env) {
  const auto lookup = [](const std::string& name) -> std::optional<std::string> {
    if (auto value = process_environment()(name)) return value;
    if (name == "MASTER_ADDR") return "127.0.0.1";
    if (name == "MASTER_PORT") return "29517";
    if (name == start_secret_variable) return "of a benchmark";
    return std::nullopt;
  };
  auto peers = open_tcp_peers(env, lookup);
  auto opened = peers ? open_hierarchical(*std::move(peers))
                      : Result<std::unique_ptr<Communicator>>(std::move(peers).error());
  if (opened) return *std::move(opened);
  fmt::print(stderr, "{}\n", opened.error().what);
  return nullptr;
}

int run(int argc, char** argv) {
  const std::size_t least = argument(argc, argv, 1, 4);
  const std::size_t most = argument(argc, argv, 2, 64u << 20);
  auto env = read_rank_env(process_environment());
  auto opened = env ? open_communicator("hierarchical", *env)
                    : Result<std::unique_ptr<Communicator>>(std::move(env).error());
  if (!opened) {
    fmt::print(stderr, "{}\n", opened.error().what);
    return 1;
  }
  Communicator& ours = **opened;
  const auto shared = ours.allocate(most);
  const auto over_tcp = open_over_tcp(*env);
  if (!over_tcp) return 1;
  const auto shared_over_tcp = over_tcp->allocate(most);
  std::vector<std::byte> own(most);

  const auto node = (*open_mpi_peers(*env))->on_this_node();
  const auto buffers = NodeMemory::make(*node, most);
  const auto flags = NodeMemory::make(*node, 4096);
  std::unique_ptr<BareLoop> loop;
  if (ours.size() == 2 && node->size() == 2 && buffers && flags) {
    const auto me = static_cast<std::size_t>(ours.rank());
    const auto& b = (*buffers)->pieces();
    const auto& f = (*flags)->pieces();
    loop = std::make_unique<BareLoop>(ours.rank(), b[me], b[1 - me], f[me], f[1 - me]);
  }
  MPI_Barrier(MPI_COMM_WORLD);

  for (std::size_t bytes = least; bytes <= most; bytes *= 4) {
    const std::size_t count = bytes / sizeof(float);
    std::vector<Contender> contenders = {
        {"hierarchical",
         [&] { ours.wait(ours.all_reduce(shared.data(), count, DType::f32, ReduceOp::sum)); }},
        {"over tcp",
         [&] {
           over_tcp->wait(
               over_tcp->all_reduce(shared_over_tcp.data(), count, DType::f32, ReduceOp::sum));
         }},
        {"MPI_Allreduce", [&] {
           MPI_Allreduce(MPI_IN_PLACE, own.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                         MPI_COMM_WORLD);
         }}};
    if (loop) contenders.push_back({"bare loop", [&] { (*loop)(count); }});
    measure(ours.rank(), bytes, contenders);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run(argc, argv);
}

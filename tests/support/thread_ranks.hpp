// Ranks as threads of one process, which sanitizers can observe.
#pragma once

#include <barrier>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "runtime/communicators/communicator.hpp"

namespace dllaunch {

/// State shared by the threads.
class ThreadTeam {
 public:
  explicit ThreadTeam(int size)
      : size_(size), meeting_(size), data_(static_cast<std::size_t>(size)) {}
  int size() const { return size_; }
  void meet() { meeting_.arrive_and_wait(); }
  void*& data_of(int rank) { return data_[static_cast<std::size_t>(rank)]; }

 private:
  int size_;
  std::barrier<> meeting_;
  std::vector<void*> data_;
};

/// Gathers and waits; other collectives are barriers without arithmetic. All work happens in
/// wait().
class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(ThreadTeam& team, int rank) : team_(team), rank_(rank) {}
  std::string_view name() const override { return "threads"; }
  int rank() const override { return rank_; }
  int size() const override { return team_.size(); }
  Pending all_reduce(void*, std::size_t, DType, ReduceOp) override { return barrier(); }
  Pending reduce_scatter(void*, std::size_t, DType, ReduceOp) override { return barrier(); }
  Pending broadcast(void*, std::size_t, DType, int) override { return barrier(); }
  Pending barrier() override { return {.id = ++last_}; }
  Pending all_gather(void* data, std::size_t count, DType type) override {
    gathered_ = data;
    block_bytes_ = count * bytes_of(type);
    return {.id = ++last_};
  }
  bool test(Pending pending) override {
    wait(pending);
    return true;
  }
  void wait(Pending pending) override {
    if (pending.id == 0) return;
    team_.data_of(rank_) = gathered_;
    team_.meet();
    if (gathered_ != nullptr) {
      for (int other = 0; other < size(); ++other) {
        if (other == rank_) continue;
        const std::size_t at = static_cast<std::size_t>(other) * block_bytes_;
        std::memcpy(static_cast<char*>(gathered_) + at,
                    static_cast<char*>(team_.data_of(other)) + at, block_bytes_);
      }
    }
    team_.meet();
    gathered_ = nullptr;
  }
  std::span<std::byte> allocate(std::size_t) override { return {}; }

 private:
  ThreadTeam& team_;
  int rank_;
  std::int64_t last_ = 0;
  void* gathered_ = nullptr;
  std::size_t block_bytes_ = 0;
};

inline void run_as_threads(int ranks,
                           const std::function<void(std::unique_ptr<Communicator>)>& body) {
  ThreadTeam team(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] { body(std::make_unique<ThreadCommunicator>(team, rank)); });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace dllaunch

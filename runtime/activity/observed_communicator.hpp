// A communicator that records in an Activity what it begins, ends and waits for.
#pragma once

#include <deque>
#include <memory>

#include "runtime/activity/activity.hpp"
#include "runtime/communicators/communicator.hpp"

namespace dllaunch {

/// Forwards everything to `inner`, whose ranks are those of `scope`. `activity` must outlive this
/// object. At most one per scope at a time.
class ObservedCommunicator final : public Communicator {
 public:
  ObservedCommunicator(std::unique_ptr<Communicator> inner, Activity& activity,
                       CollectiveScope scope = CollectiveScope::world);
  ~ObservedCommunicator() override;

  std::string_view name() const override { return inner_->name(); }
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  MemorySpace memory() const override { return inner_->memory(); }
  void use_host_memory() override { inner_->use_host_memory(); }

  Pending all_reduce(void* data, std::size_t count, DType type, ReduceOp op) override;
  Pending reduce_scatter(void* data, std::size_t count, DType type, ReduceOp op) override;
  Pending all_gather(void* data, std::size_t count, DType type) override;
  Pending broadcast(void* data, std::size_t count, DType type, int root) override;
  Pending barrier() override;

  bool test(Pending pending) override;
  void wait(Pending pending) override;
  bool follow(Pending pending) override { return inner_->follow(pending); }
  std::span<std::byte> allocate(std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override {
    inner_->copy(to, from, bytes);
  }

 private:
  struct Operation {
    std::uint64_t number = 0;
    std::int64_t id = 0;  // of the inner Pending
    CollectiveKind kind = CollectiveKind::barrier;
    std::uint64_t bytes = 0;
    std::int64_t begin_ns = 0;
    bool done = false;
  };

  std::uint64_t announce(CollectiveKind kind, std::uint64_t bytes);
  Pending keep(std::uint64_t number, Pending pending, CollectiveKind kind, std::uint64_t bytes);
  std::deque<Operation>::iterator find(Pending pending);
  void end(Pending pending);

  std::unique_ptr<Communicator> inner_;
  Activity& activity_;
  CollectiveScope scope_;
  std::int64_t announced_ns_ = 0;
  std::deque<Operation> live_;  // begun, in order; the front has not ended
};

}  // namespace dllaunch

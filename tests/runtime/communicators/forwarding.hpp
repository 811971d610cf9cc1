// A communicator that forwards to another, for tests that watch or change some of its calls.
#pragma once

#include "runtime/communicators/communicator.hpp"

namespace dllaunch {

class Forwarding : public Communicator {
 public:
  explicit Forwarding(Communicator& real) : real_(real) {}
  std::string_view name() const override { return real_.name(); }
  int rank() const override { return real_.rank(); }
  int size() const override { return real_.size(); }
  MemorySpace memory() const override { return real_.memory(); }
  Pending all_reduce(void* data, std::size_t count, DType type, ReduceOp op) override {
    return real_.all_reduce(data, count, type, op);
  }
  Pending reduce_scatter(void* data, std::size_t count, DType type, ReduceOp op) override {
    return real_.reduce_scatter(data, count, type, op);
  }
  Pending all_gather(void* data, std::size_t count, DType type) override {
    return real_.all_gather(data, count, type);
  }
  Pending broadcast(void* data, std::size_t count, DType type, int root) override {
    return real_.broadcast(data, count, type, root);
  }
  Pending barrier() override { return real_.barrier(); }
  bool test(Pending pending) override { return real_.test(pending); }
  void wait(Pending pending) override { real_.wait(pending); }
  std::span<std::byte> allocate(std::size_t bytes) override { return real_.allocate(bytes); }
  void use_host_memory() override { real_.use_host_memory(); }
  void copy(void* to, const void* from, std::size_t bytes) override { real_.copy(to, from, bytes); }

 protected:
  Communicator& real_;
};

}  // namespace dllaunch

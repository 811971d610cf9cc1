// Collectives between GPUs through NCCL, or RCCL from the same source. Part of a loadable module,
// so one dltrain runs on nodes with and without GPUs.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/nccl/nccl_api.hpp"
#include "runtime/rank/rank_env.hpp"

namespace dllaunch {

/// GPU memory goes through NCCL on a separate stream, host memory through `host`, which also
/// connected the ranks. A collective begins after all work that this rank has given to blocking
/// streams, and is done when test() or wait() says so. If the library reports an error, such as a
/// network failure, the rank calls ncclCommAbort() and die() instead of hanging. The library does
/// not report a peer that died within the node; the watchdog does. min and max are NCCL's own: they
/// may drop a NaN.
class NcclCommunicator final : public Communicator {
 public:
  /// Collective. Takes `host` only if it succeeds. unavailable, on every rank: one of them has no
  /// GPU, or NCCL fails.
  static Result<std::unique_ptr<Communicator>> open(std::unique_ptr<Communicator>& host,
                                                    const RankEnv& env);
  ~NcclCommunicator() override;
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  std::string_view name() const override { return on_host_ ? host_->name() : "nccl"; }
  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }
  MemorySpace memory() const override { return on_host_ ? host_->memory() : MemorySpace::gpu; }
  void use_host_memory() override { on_host_ = true; }

  Pending all_reduce(void* data, std::size_t count, DType type, ReduceOp op) override;
  Pending reduce_scatter(void* data, std::size_t count, DType type, ReduceOp op) override;
  Pending all_gather(void* data, std::size_t count, DType type) override;
  Pending broadcast(void* data, std::size_t count, DType type, int root) override;
  Pending barrier() override;

  bool test(Pending pending) override;
  void wait(Pending pending) override;
  bool follow(Pending pending) override;

  std::span<std::byte> allocate(std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;

 private:
  /// On the GPU if `event` is not null, else an operation of `host_`.
  struct Operation {
    std::int64_t id = 0;
    GpuEvent event = nullptr;
    Pending of_host = {};
  };

  NcclCommunicator(std::unique_ptr<Communicator> host, ncclComm_t comm);
  void begin();
  Pending end();
  Pending keep(Pending of_host);
  bool is_done(const Operation& operation);
  ncclResult_t outcome(ncclResult_t result);
  void check(ncclResult_t result, std::string_view call);
  void check(GpuStatus status, std::string_view call);

  std::unique_ptr<Communicator> host_;
  bool on_host_ = false;
  ncclComm_t comm_;
  GpuStream stream_ = nullptr;
  GpuEvent ready_ = nullptr;     // what the next collective waits for
  std::vector<GpuEvent> spare_;  // for later operations
  std::vector<RegisteredBuffer> buffers_;
  std::deque<Operation> live_;
  std::int64_t next_ = 1;
};

}  // namespace dllaunch

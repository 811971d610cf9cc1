#include "runtime/communicators/solo/solo.hpp"

#include <fmt/core.h>

#include "runtime/communicators/aligned_memory.hpp"

namespace dllaunch {
namespace {

class SoloCommunicator final : public Communicator {
 public:
  explicit SoloCommunicator(int size) : size_(size) {}
  std::string_view name() const override { return "solo"; }
  int rank() const override { return 0; }
  int size() const override { return size_; }

  Pending all_reduce(void*, std::size_t, DType, ReduceOp) override { return {}; }
  Pending reduce_scatter(void*, std::size_t, DType, ReduceOp) override { return {}; }
  Pending all_gather(void*, std::size_t, DType) override { return {}; }
  Pending broadcast(void*, std::size_t, DType, int) override { return {}; }
  Pending barrier() override { return {}; }

  bool test(Pending) override { return true; }
  void wait(Pending) override {}

  std::span<std::byte> allocate(std::size_t bytes) override { return memory_.allocate(bytes); }

 private:
  int size_;
  AlignedMemory memory_;
};

}  // namespace

Result<std::unique_ptr<Communicator>> open_solo(const RankEnv& env) {
  if (env.world_size != 1) {
    return Error{
        ErrorKind::bad_request,
        fmt::format("communicator solo is for one rank only, this job has {}", env.world_size),
        "use runtime.allreduce: auto"};
  }
  return stand_in_for(1);
}

std::unique_ptr<Communicator> stand_in_for(int ranks) {
  return std::make_unique<SoloCommunicator>(ranks);
}

}  // namespace dllaunch

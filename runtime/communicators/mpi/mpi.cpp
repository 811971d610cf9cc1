#include "runtime/communicators/mpi/mpi.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runtime/communicators/aligned_memory.hpp"
#include "runtime/communicators/mpi/library.hpp"
#include "runtime/communicators/mpi/requests.hpp"
#include "runtime/communicators/reduction/reduction.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_elements_of_mpi = std::size_t{1} << 30;  // below INT_MAX

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(std::shared_ptr<MpiLibrary> library, std::size_t most_elements)
      : library_(std::move(library)), most_elements_(most_elements) {
    // A separate context: our messages never match those of other MPI users in this process.
    must(mpi().comm_dup(mpi().world, &comm_), "MPI_Comm_dup");
    must(mpi().return_errors(comm_), "MPI_Comm_set_errhandler");
    must(mpi().comm_rank(comm_, &rank_), "MPI_Comm_rank");
    must(mpi().comm_size(comm_, &size_), "MPI_Comm_size");
  }
  ~MpiCommunicator() override {
    while (!requests_.empty()) requests_.wait_for_some();
    mpi().comm_free(comm_);
  }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  std::string_view name() const override { return "mpi"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Pending all_reduce(void* data, std::size_t count, DType type, ReduceOp op) override;
  Pending reduce_scatter(void* data, std::size_t count, DType type, ReduceOp op) override;
  Pending all_gather(void* data, std::size_t count, DType type) override;
  Pending broadcast(void* data, std::size_t count, DType type, int root) override;
  Pending barrier() override;

  bool test(Pending pending) override {
    requests_.progress();
    return requests_.is_done(pending);
  }
  void wait(Pending pending) override {
    while (!requests_.is_done(pending)) requests_.wait_for_some();
  }

  std::span<std::byte> allocate(std::size_t bytes) override { return memory_.allocate(bytes); }

 private:
  /// Calls start(address, count) for pieces of at most most_elements_.
  template <typename Start>
  void in_chunks(void* data, std::size_t count, DType type, Start start) const {
    auto* address = static_cast<std::byte*>(data);
    while (count > 0) {
      const std::size_t piece = std::min(count, most_elements_);
      start(address, static_cast<int>(piece));
      address += piece * bytes_of(type);
      count -= piece;
    }
  }
  void* block(void* data, std::size_t count, DType type, int owner) const {
    return static_cast<std::byte*>(data) + static_cast<std::size_t>(owner) * count * bytes_of(type);
  }
  void divide(void* data, std::size_t count, DType type) const {
    const std::array<const std::byte*, 1> sum = {static_cast<const std::byte*>(data)};
    const std::array<std::byte*, 1> average = {static_cast<std::byte*>(data)};
    reduce({type, ReduceOp::average, size_}, sum, average, count);
  }
  /// MPI libraries compute the elements of all blocks together in an int.
  bool fits(std::size_t count) const {
    return count <= most_elements_ / static_cast<std::size_t>(size_);
  }

  std::shared_ptr<MpiLibrary> library_;  // first, so that MPI outlives the members below
  MpiReductions reductions_;
  MpiHandle comm_ = 0;
  int rank_ = 0;
  int size_ = 1;
  std::size_t most_elements_;
  Requests requests_;
  AlignedMemory memory_;
};

// Bit-identical on all ranks: of Open MPI 4.1's four algorithms, three reduce each element on one
// rank and copy it; recursive doubling adds the same pairs everywhere, only swapped.
Pending MpiCommunicator::all_reduce(void* data, std::size_t count, DType type, ReduceOp op) {
  if (count == 0) return {};
  const Pending pending = requests_.open();
  in_chunks(data, count, type, [&](void* piece, int elements) {
    must(mpi().iallreduce(piece, elements, reductions_.find(type, op), comm_,
                          requests_.add(pending)),
         "MPI_Iallreduce");
  });
  if (op == ReduceOp::average) {
    requests_.at_end(pending, [=, this] { divide(data, count, type); });
  }
  return pending;
}

Pending MpiCommunicator::reduce_scatter(void* data, std::size_t count, DType type, ReduceOp op) {
  if (count == 0) return {};
  const Pending pending = requests_.open();
  if (fits(count)) {
    must(mpi().ireduce_scatter(data, static_cast<int>(count), reductions_.find(type, op), comm_,
                               requests_.add(pending)),
         "MPI_Ireduce_scatter_block");
    // In place, MPI leaves the result in the first block.
    requests_.at_end(pending, [=, this] {
      void* mine = block(data, count, type, rank_);
      if (rank_ != 0) std::memmove(mine, data, count * bytes_of(type));
      if (op == ReduceOp::average) divide(mine, count, type);
    });
    return pending;
  }
  for (int owner = 0; owner < size_; ++owner) {
    in_chunks(block(data, count, type, owner), count, type, [&](void* piece, int elements) {
      must(mpi().ireduce(piece, elements, reductions_.find(type, op), owner, comm_,
                         requests_.add(pending)),
           "MPI_Ireduce");
    });
  }
  if (op == ReduceOp::average) {
    requests_.at_end(pending, [=, this] { divide(block(data, count, type, rank_), count, type); });
  }
  return pending;
}

Pending MpiCommunicator::all_gather(void* data, std::size_t count, DType type) {
  if (count == 0) return {};
  const Pending pending = requests_.open();
  if (fits(count)) {
    must(mpi().iallgather(data, static_cast<int>(count), to_mpi(type), comm_,
                          requests_.add(pending)),
         "MPI_Iallgather");
    return pending;
  }
  for (int owner = 0; owner < size_; ++owner) {
    in_chunks(block(data, count, type, owner), count, type, [&](void* piece, int elements) {
      must(mpi().ibcast(piece, elements, to_mpi(type), owner, comm_, requests_.add(pending)),
           "MPI_Ibcast");
    });
  }
  return pending;
}

Pending MpiCommunicator::broadcast(void* data, std::size_t count, DType type, int root) {
  if (count == 0) return {};
  const Pending pending = requests_.open();
  in_chunks(data, count, type, [&](void* piece, int elements) {
    must(mpi().ibcast(piece, elements, to_mpi(type), root, comm_, requests_.add(pending)),
         "MPI_Ibcast");
  });
  return pending;
}

Pending MpiCommunicator::barrier() {
  const Pending pending = requests_.open();
  must(mpi().ibarrier(comm_, requests_.add(pending)), "MPI_Ibarrier");
  return pending;
}

}  // namespace

Result<std::unique_ptr<Communicator>> open_mpi_in_chunks(const RankEnv& env,
                                                         std::size_t most_elements) {
  auto library = start_mpi(env);
  if (!library) return std::move(library).error();
  return std::unique_ptr<Communicator>(
      std::make_unique<MpiCommunicator>(*std::move(library), most_elements));
}

Result<std::unique_ptr<Communicator>> open_mpi(const RankEnv& env) {
  return open_mpi_in_chunks(env, most_elements_of_mpi);
}

}  // namespace dllaunch

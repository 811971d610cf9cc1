#include "runtime/communicators/mpi/mpi.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/communicators/aligned_memory.hpp"
#include "runtime/communicators/mpi/requests.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t most_elements_of_mpi = std::size_t{1} << 30;  // below INT_MAX

MPI_Datatype to_mpi(DType type) {
  switch (type) {
    case DType::f32:
      return MPI_FLOAT;
    case DType::f64:
      return MPI_DOUBLE;
    case DType::i64:
      return MPI_INT64_T;
    case DType::u8:
      return MPI_UINT8_T;
  }
  return MPI_DATATYPE_NULL;
}

/// in_out[i] becomes the lesser (or greater) of both, NaN where either is. MPI's own min and max
/// drop a NaN or keep it depending on the order of ranks, and a diverged loss must not be hidden.
template <typename T, bool lesser>
void extreme(void* in, void* in_out, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) {
    const auto at = static_cast<std::size_t>(i) * sizeof(T);
    T a;
    T b;
    std::memcpy(&a, static_cast<std::byte*>(in) + at, sizeof a);  // may be unaligned
    std::memcpy(&b, static_cast<std::byte*>(in_out) + at, sizeof b);
    const bool take_a = a != a || (b == b && (lesser ? a < b : a > b));
    if (take_a) std::memcpy(static_cast<std::byte*>(in_out) + at, &a, sizeof a);
  }
}

/// MPI's life in this process, ended only by who began it.
class Library {
 public:
  explicit Library(bool owned) : owned_(owned) {}
  ~Library() {
    if (owned_) MPI_Finalize();
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

 private:
  bool owned_;
};

/// The reductions that MPI does not have as we define them.
class Reductions {
 public:
  Reductions() {
    must(MPI_Op_create(extreme<float, true>, 1, &min_f32_), "MPI_Op_create");
    must(MPI_Op_create(extreme<float, false>, 1, &max_f32_), "MPI_Op_create");
    must(MPI_Op_create(extreme<double, true>, 1, &min_f64_), "MPI_Op_create");
    must(MPI_Op_create(extreme<double, false>, 1, &max_f64_), "MPI_Op_create");
  }
  ~Reductions() {
    for (MPI_Op* op : {&min_f32_, &max_f32_, &min_f64_, &max_f64_}) MPI_Op_free(op);
  }
  Reductions(const Reductions&) = delete;
  Reductions& operator=(const Reductions&) = delete;

  MPI_Op find(DType type, ReduceOp op) const {
    if (op == ReduceOp::sum) return MPI_SUM;
    const bool min = op == ReduceOp::min;
    if (type == DType::f32) return min ? min_f32_ : max_f32_;
    if (type == DType::f64) return min ? min_f64_ : max_f64_;
    return min ? MPI_MIN : MPI_MAX;
  }

 private:
  MPI_Op min_f32_ = MPI_OP_NULL;
  MPI_Op max_f32_ = MPI_OP_NULL;
  MPI_Op min_f64_ = MPI_OP_NULL;
  MPI_Op max_f64_ = MPI_OP_NULL;
};

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(bool owns_library, std::size_t most_elements)
      : library_(owns_library), most_elements_(most_elements) {
    if (owns_library) {
      must(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    }
    // Its own context: our messages never meet those of anyone else who uses MPI here.
    must(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
    must(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    must(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    must(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  }
  ~MpiCommunicator() override {
    while (!requests_.empty()) requests_.wait_for_some();
    MPI_Comm_free(&comm_);
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
  /// start(address, count) for pieces of at most most_elements_.
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
  /// MPI libraries also compute, in an int, with the elements of all blocks together.
  bool fits(std::size_t count) const {
    return count <= most_elements_ / static_cast<std::size_t>(size_);
  }

  Library library_;  // first, so that MPI outlives all that follows
  Reductions reductions_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::size_t most_elements_;
  Requests requests_;
  AlignedMemory memory_;
};

// The same bits everywhere: of Open MPI 4.1's four algorithms three reduce each element on one rank
// and copy it; recursive doubling adds the same pairs everywhere, only swapped.
Pending MpiCommunicator::all_reduce(void* data, std::size_t count, DType type, ReduceOp op) {
  if (count == 0) return {};
  const Pending pending = requests_.open();
  in_chunks(data, count, type, [&](void* piece, int elements) {
    must(MPI_Iallreduce(MPI_IN_PLACE, piece, elements, to_mpi(type), reductions_.find(type, op),
                        comm_, requests_.add(pending)),
         "MPI_Iallreduce");
  });
  return pending;
}

Pending MpiCommunicator::reduce_scatter(void* data, std::size_t count, DType type, ReduceOp op) {
  if (count == 0) return {};
  const Pending pending = requests_.open();
  if (fits(count)) {
    must(MPI_Ireduce_scatter_block(MPI_IN_PLACE, data, static_cast<int>(count), to_mpi(type),
                                   reductions_.find(type, op), comm_, requests_.add(pending)),
         "MPI_Ireduce_scatter_block");
    // In place, MPI leaves the result in the first block.
    if (rank_ != 0) {
      requests_.move_at_end(pending, block(data, count, type, rank_), data, count * bytes_of(type));
    }
    return pending;
  }
  for (int owner = 0; owner < size_; ++owner) {
    in_chunks(block(data, count, type, owner), count, type, [&](void* piece, int elements) {
      const bool here = owner == rank_;
      must(MPI_Ireduce(here ? MPI_IN_PLACE : piece, here ? piece : nullptr, elements, to_mpi(type),
                       reductions_.find(type, op), owner, comm_, requests_.add(pending)),
           "MPI_Ireduce");
    });
  }
  return pending;
}

Pending MpiCommunicator::all_gather(void* data, std::size_t count, DType type) {
  if (count == 0) return {};
  const Pending pending = requests_.open();
  if (fits(count)) {
    must(MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, static_cast<int>(count),
                        to_mpi(type), comm_, requests_.add(pending)),
         "MPI_Iallgather");
    return pending;
  }
  for (int owner = 0; owner < size_; ++owner) {
    in_chunks(block(data, count, type, owner), count, type, [&](void* piece, int elements) {
      must(MPI_Ibcast(piece, elements, to_mpi(type), owner, comm_, requests_.add(pending)),
           "MPI_Ibcast");
    });
  }
  return pending;
}

Pending MpiCommunicator::broadcast(void* data, std::size_t count, DType type, int root) {
  if (count == 0) return {};
  const Pending pending = requests_.open();
  in_chunks(data, count, type, [&](void* piece, int elements) {
    must(MPI_Ibcast(piece, elements, to_mpi(type), root, comm_, requests_.add(pending)),
         "MPI_Ibcast");
  });
  return pending;
}

Pending MpiCommunicator::barrier() {
  const Pending pending = requests_.open();
  must(MPI_Ibarrier(comm_, requests_.add(pending)), "MPI_Ibarrier");
  return pending;
}

/// True: we started it. False: it ran already.
Result<bool> start_library(const RankEnv& env) {
  int flag = 0;
  must(MPI_Finalized(&flag), "MPI_Finalized");
  if (flag != 0) {
    return Error{ErrorKind::unavailable, "MPI has already ended in this process", ""};
  }
  must(MPI_Initialized(&flag), "MPI_Initialized");
  if (flag != 0) return false;

  // Within one node Open MPI needs no network, and looking for one (UCX) doubles its start-up.
  // The user's own choice stands.
  if (env.nodes == 1) ::setenv("OMPI_MCA_pml", "ob1", 0);

  // One thread at a time calls, but not always the same one.
  int provided = MPI_THREAD_SINGLE;
  must(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_SERIALIZED) {
    MPI_Finalize();
    return Error{ErrorKind::unavailable, "this MPI library does not support threads",
                 "build it with thread support"};
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<Communicator>> open_mpi_in_chunks(const RankEnv& env,
                                                         std::size_t most_elements) {
  // Without a launcher that speaks to MPI, every rank would come up alone as rank 0 of 1.
  if (env.world_size > 1 && !env.mpi) {
    return Error{ErrorKind::unavailable,
                 fmt::format("{} ranks were started by {} without MPI support", env.world_size,
                             env.launcher),
                 "use srun --mpi=pmix, or mpirun"};
  }
  auto started = start_library(env);
  if (!started) return std::move(started).error();

  auto communicator = std::make_unique<MpiCommunicator>(*started, most_elements);
  if (communicator->size() != env.world_size || communicator->rank() != env.rank) {
    return Error{
        ErrorKind::bad_request,
        fmt::format("this is rank {} of {} to {}, but rank {} of {} to MPI", env.rank,
                    env.world_size, env.launcher, communicator->rank(), communicator->size()),
        "start the ranks with the launcher of the MPI library that dltrain links"};
  }
  return std::unique_ptr<Communicator>(std::move(communicator));
}

Result<std::unique_ptr<Communicator>> open_mpi(const RankEnv& env) {
  return open_mpi_in_chunks(env, most_elements_of_mpi);
}

}  // namespace dllaunch

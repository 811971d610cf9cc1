#include "runtime/communicators/mpi/library.hpp"

#include <fmt/core.h>

#include <array>
#include <cstdlib>

#include "runtime/communicators/mpi/requests.hpp"
#include "runtime/communicators/mpi/segment_names.hpp"
#include "runtime/communicators/reduction/reduction.hpp"

namespace dllaunch {
namespace {

/// MPI's own min and max keep or drop a NaN depending on the order of ranks, and MPI has no 16-bit
/// floats.
template <DType type, ReduceOp op>
void combine(void* in, void* in_out, int* count, MPI_Datatype*) {
  const std::array<const std::byte*, 2> sources = {static_cast<const std::byte*>(in),
                                                   static_cast<const std::byte*>(in_out)};
  const std::array<std::byte*, 1> destinations = {static_cast<std::byte*>(in_out)};
  reduce({type, op}, sources, destinations, static_cast<std::size_t>(*count));
}

template <DType type, ReduceOp op>
void create(MPI_Op& operation) {
  must(MPI_Op_create(combine<type, op>, 1, &operation), "MPI_Op_create");
}

/// True if this call started MPI, false if it was running.
Result<bool> initialise(const RankEnv& env) {
  int flag = 0;
  must(MPI_Finalized(&flag), "MPI_Finalized");
  if (flag != 0) {
    return Error{ErrorKind::unavailable, "MPI has already ended in this process", ""};
  }
  must(MPI_Initialized(&flag), "MPI_Initialized");
  if (flag != 0) return false;

  // Within one node Open MPI needs no network, and looking for one (UCX) doubles its start-up time.
  // A value set by the user wins.
  if (env.nodes == 1) ::setenv("OMPI_MCA_pml", "ob1", 0);

  // Calls come from one thread at a time, but not always the same one.
  int provided = MPI_THREAD_SINGLE;
  must(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_SERIALIZED) {
    MPI_Finalize();
    return Error{ErrorKind::unavailable, "this MPI library does not support threads",
                 "build it with thread support"};
  }
  must(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return true;
}

}  // namespace

MpiLibrary::~MpiLibrary() {
  if (!owned_) return;
  restore_segment_name(segment_);
  MPI_Finalize();
}

Result<std::shared_ptr<MpiLibrary>> start_mpi(const RankEnv& env) {
  // If the launcher does not support MPI, every rank would start as rank 0 of 1.
  if (env.world_size > 1 && !env.mpi) {
    return Error{ErrorKind::unavailable,
                 fmt::format("{} ranks were started by {} without MPI support", env.world_size,
                             env.launcher),
                 "use srun --mpi=pmix, or mpirun"};
  }
  static std::weak_ptr<MpiLibrary> shared;
  std::shared_ptr<MpiLibrary> library = shared.lock();
  if (!library) {
    auto started = initialise(env);
    if (!started) return std::move(started).error();
    library = std::make_shared<MpiLibrary>(
        *started, *started ? forget_segment_name(env.local_rank, env.local_world_size) : "");
    shared = library;
  }

  int rank = 0;
  int size = 1;
  must(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  must(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  if (size == env.world_size && rank == env.rank) return library;
  return Error{ErrorKind::bad_request,
               fmt::format("this is rank {} of {} to {}, but rank {} of {} to MPI", env.rank,
                           env.world_size, env.launcher, rank, size),
               "start the ranks with the launcher of the MPI library that dltrain links"};
}

std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text = {};
  int length = 0;
  must(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
  const std::string_view version(text.data(), static_cast<std::size_t>(length));
  return std::string(version.substr(0, version.find(',')));
}

MPI_Datatype to_mpi(DType type) {
  switch (type) {
    case DType::f32:
      return MPI_FLOAT;
    case DType::f64:
      return MPI_DOUBLE;
    case DType::f16:
    case DType::bf16:
      return MPI_UINT16_T;
    case DType::i64:
      return MPI_INT64_T;
    case DType::u8:
      return MPI_UINT8_T;
  }
  return MPI_DATATYPE_NULL;
}

MpiReductions::MpiReductions() {
  create<DType::f32, ReduceOp::min>(min_f32_);
  create<DType::f32, ReduceOp::max>(max_f32_);
  create<DType::f64, ReduceOp::min>(min_f64_);
  create<DType::f64, ReduceOp::max>(max_f64_);
  create<DType::f16, ReduceOp::sum>(sum_f16_);
  create<DType::f16, ReduceOp::min>(min_f16_);
  create<DType::f16, ReduceOp::max>(max_f16_);
  create<DType::bf16, ReduceOp::sum>(sum_bf16_);
  create<DType::bf16, ReduceOp::min>(min_bf16_);
  create<DType::bf16, ReduceOp::max>(max_bf16_);
}

MpiReductions::~MpiReductions() {
  for (MPI_Op* op : {&min_f32_, &max_f32_, &min_f64_, &max_f64_, &sum_f16_, &min_f16_, &max_f16_,
                     &sum_bf16_, &min_bf16_, &max_bf16_}) {
    MPI_Op_free(op);
  }
}

MPI_Op MpiReductions::find(DType type, ReduceOp op) const {
  const auto choose = [op](MPI_Op sum, MPI_Op min, MPI_Op max) {
    if (op == ReduceOp::min) return min;
    return op == ReduceOp::max ? max : sum;
  };
  switch (type) {
    case DType::f32:
      return choose(MPI_SUM, min_f32_, max_f32_);
    case DType::f64:
      return choose(MPI_SUM, min_f64_, max_f64_);
    case DType::f16:
      return choose(sum_f16_, min_f16_, max_f16_);
    case DType::bf16:
      return choose(sum_bf16_, min_bf16_, max_bf16_);
    case DType::i64:
    case DType::u8:
      return choose(MPI_SUM, MPI_MIN, MPI_MAX);
  }
  return MPI_OP_NULL;
}

}  // namespace dllaunch

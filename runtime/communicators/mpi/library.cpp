#include "runtime/communicators/mpi/library.hpp"

#include <fmt/core.h>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "runtime/communicators/mpi/requests.hpp"
#include "runtime/communicators/mpi/segment_names.hpp"
#include "runtime/communicators/reduction/reduction.hpp"

namespace dllaunch {
namespace {

/// MPI's own min and max keep or drop a NaN depending on the order of ranks, and MPI has no 16-bit
/// floats.
template <DType type, ReduceOp op>
void combine(void* in, void* in_out, int* count, void* /*type*/) {
  const std::array<const std::byte*, 2> sources = {static_cast<const std::byte*>(in),
                                                   static_cast<const std::byte*>(in_out)};
  const std::array<std::byte*, 1> destinations = {static_cast<std::byte*>(in_out)};
  reduce({type, op}, sources, destinations, static_cast<std::size_t>(*count));
}

template <DType type, ReduceOp op>
void create(MpiHandle& operation) {
  must(mpi().op_create(combine<type, op>, &operation), "MPI_Op_create");
}

/// True if this call started MPI, false if it was running.
Result<bool> initialise(const RankEnv& env, const MpiModule& module) {
  int flag = 0;
  must(mpi().finalized(&flag), "MPI_Finalized");
  if (flag != 0) {
    return Error{ErrorKind::unavailable, "MPI has already ended in this process", ""};
  }
  must(mpi().initialized(&flag), "MPI_Initialized");
  if (flag != 0) return false;

  // Ranks of another MPI's launcher are usually each alone, which start_mpi() finds. MPICH ends the
  // process instead.
  if (env.launcher == "openmpi" && env.rank == 0 && !module.library.starts_with("Open MPI")) {
    fmt::print(stderr,
               "dltrain: warning: Open MPI started the ranks; the MPI module {} is for {}\n",
               module.path, module.fits);
  }
  // Within one node Open MPI needs no network, and looking for one (UCX) doubles its start-up time.
  // A value set by the user wins.
  if (env.nodes == 1) ::setenv("OMPI_MCA_pml", "ob1", 0);

  // Calls come from one thread at a time, but not always the same one.
  int enough = 0;
  must(mpi().init(&enough), "MPI_Init_thread");
  if (enough == 0) {
    mpi().finalize();
    return Error{ErrorKind::unavailable, "this MPI library does not support threads",
                 "build it with thread support"};
  }
  must(mpi().return_errors(mpi().world), "MPI_Comm_set_errhandler");
  return true;
}

}  // namespace

MpiLibrary::~MpiLibrary() {
  if (!owned_) return;
  restore_segment_name(segment_);
  mpi().finalize();
}

Result<std::shared_ptr<MpiLibrary>> start_mpi(const RankEnv& env) {
  // If the launcher does not support MPI, every rank would start as rank 0 of 1.
  if (env.world_size > 1 && !env.mpi) {
    return Error{ErrorKind::unavailable,
                 fmt::format("{} ranks were started by {} without MPI support", env.world_size,
                             env.launcher),
                 "use srun --mpi=pmix, or mpirun"};
  }
  const auto module = load_mpi(process_environment());
  if (!module) return module.error();
  static std::weak_ptr<MpiLibrary> shared;
  std::shared_ptr<MpiLibrary> library = shared.lock();
  if (!library) {
    auto started = initialise(env, **module);
    if (!started) return std::move(started).error();
    library = std::make_shared<MpiLibrary>(
        *started, *started ? forget_segment_name(env.local_rank, env.local_world_size) : "");
    shared = library;
  }

  int rank = 0;
  int size = 1;
  must(mpi().comm_rank(mpi().world, &rank), "MPI_Comm_rank");
  must(mpi().comm_size(mpi().world, &size), "MPI_Comm_size");
  if (size == env.world_size && rank == env.rank) return library;
  return Error{ErrorKind::bad_request,
               fmt::format("this is rank {} of {} to {}, but rank {} of {} to {}", env.rank,
                           env.world_size, env.launcher, rank, size, (*module)->library),
               fmt::format("start the ranks with the launcher of that MPI, or build a module for "
                           "the other in place of {}: dllaunch build-mpi-module",
                           (*module)->path)};
}

MpiHandle to_mpi(DType type) {
  switch (type) {
    case DType::f32:
      return mpi().f32;
    case DType::f64:
      return mpi().f64;
    case DType::f16:
    case DType::bf16:
      return mpi().u16;
    case DType::i64:
      return mpi().i64;
    case DType::u8:
      return mpi().u8;
  }
  return 0;
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
  for (const MpiHandle op : {min_f32_, max_f32_, min_f64_, max_f64_, sum_f16_, min_f16_, max_f16_,
                             sum_bf16_, min_bf16_, max_bf16_}) {
    mpi().op_free(op);
  }
}

MpiReduction MpiReductions::find(DType type, ReduceOp op) const {
  return {to_mpi(type), operation(type, op)};
}

MpiHandle MpiReductions::operation(DType type, ReduceOp op) const {
  const auto choose = [op](MpiHandle sum, MpiHandle min, MpiHandle max) {
    if (op == ReduceOp::min) return min;
    return op == ReduceOp::max ? max : sum;
  };
  switch (type) {
    case DType::f32:
      return choose(mpi().sum, min_f32_, max_f32_);
    case DType::f64:
      return choose(mpi().sum, min_f64_, max_f64_);
    case DType::f16:
      return choose(sum_f16_, min_f16_, max_f16_);
    case DType::bf16:
      return choose(sum_bf16_, min_bf16_, max_bf16_);
    case DType::i64:
    case DType::u8:
      return choose(mpi().sum, mpi().min, mpi().max);
  }
  return 0;
}

}  // namespace dllaunch

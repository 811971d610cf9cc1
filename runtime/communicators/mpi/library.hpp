// MPI's life in this process, and what it calls our types and reductions.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <utility>

#include "runtime/communicators/communicator.hpp"
#include "runtime/rank/rank_env.hpp"

namespace dllaunch {

/// Keeps MPI running while it lives, and ends MPI if it began it.
class MpiLibrary {
 public:
  /// `segment`: a name that MPI wants back at its end; empty: none.
  MpiLibrary(bool owned, std::string segment) : owned_(owned), segment_(std::move(segment)) {}
  ~MpiLibrary();
  MpiLibrary(const MpiLibrary&) = delete;
  MpiLibrary& operator=(const MpiLibrary&) = delete;

 private:
  bool owned_;
  std::string segment_;
};

/// Starts MPI where nobody has, and checks that it sees the ranks of `env`. All who ask share one
/// library, which ends with the last of them: MPI cannot be started twice.
/// unavailable: several ranks whose launcher gave MPI no way to find them, or MPI has ended here.
/// bad_request: MPI sees other ranks than the environment says.
Result<std::shared_ptr<MpiLibrary>> start_mpi(const RankEnv& env);

/// "Open_MPI_v4.1.4": what the library calls itself, up to the first comma.
std::string mpi_version();

/// The 16-bit floats travel as 16-bit integers.
MPI_Datatype to_mpi(DType type);

/// The reductions that MPI does not have as reduction.hpp defines them.
class MpiReductions {
 public:
  MpiReductions();
  ~MpiReductions();
  MpiReductions(const MpiReductions&) = delete;
  MpiReductions& operator=(const MpiReductions&) = delete;

  /// For an average, the sum: the caller divides at the end.
  MPI_Op find(DType type, ReduceOp op) const;

 private:
  MPI_Op min_f32_ = MPI_OP_NULL;
  MPI_Op max_f32_ = MPI_OP_NULL;
  MPI_Op min_f64_ = MPI_OP_NULL;
  MPI_Op max_f64_ = MPI_OP_NULL;
  MPI_Op sum_f16_ = MPI_OP_NULL;
  MPI_Op min_f16_ = MPI_OP_NULL;
  MPI_Op max_f16_ = MPI_OP_NULL;
  MPI_Op sum_bf16_ = MPI_OP_NULL;
  MPI_Op min_bf16_ = MPI_OP_NULL;
  MPI_Op max_bf16_ = MPI_OP_NULL;
};

}  // namespace dllaunch

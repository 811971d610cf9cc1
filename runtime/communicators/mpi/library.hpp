// MPI's lifetime in this process, and its names for our types and reductions.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <utility>

#include "runtime/communicators/communicator.hpp"
#include "runtime/rank/rank_env.hpp"

namespace dllaunch {

/// Keeps MPI running, and finalizes it if we started it.
class MpiLibrary {
 public:
  /// `segment`: a file name to restore before MPI_Finalize; may be empty.
  MpiLibrary(bool owned, std::string segment) : owned_(owned), segment_(std::move(segment)) {}
  ~MpiLibrary();
  MpiLibrary(const MpiLibrary&) = delete;
  MpiLibrary& operator=(const MpiLibrary&) = delete;

 private:
  bool owned_;
  std::string segment_;
};

/// Starts MPI if it is not running, and checks that it sees the ranks of `env`. All callers share
/// one library, which ends with the last of them: MPI cannot be started twice.
/// unavailable: several ranks, but the launcher gave MPI no way to connect them, or MPI has been
/// finalized. bad_request: MPI sees other ranks than the environment says.
Result<std::shared_ptr<MpiLibrary>> start_mpi(const RankEnv& env);

/// "Open_MPI_v4.1.4": the library's own version string, up to the first comma.
std::string mpi_version();

/// 16-bit floats travel as 16-bit integers.
MPI_Datatype to_mpi(DType type);

/// Reductions defined in reduction.hpp that MPI lacks.
class MpiReductions {
 public:
  MpiReductions();
  ~MpiReductions();
  MpiReductions(const MpiReductions&) = delete;
  MpiReductions& operator=(const MpiReductions&) = delete;

  /// For an average, returns the sum: the caller divides at the end.
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

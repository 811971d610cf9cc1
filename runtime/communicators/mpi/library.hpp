// MPI's lifetime in this process, and its names for our types and reductions.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "runtime/communicators/communicator.hpp"
#include "runtime/communicators/mpi/mpi_module.hpp"
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
/// unavailable: several ranks, but the launcher gave MPI no way to connect them, no module fits
/// (load_mpi()), or MPI has been finalized. bad_request: MPI sees other ranks than the environment
/// says.
Result<std::shared_ptr<MpiLibrary>> start_mpi(const RankEnv& env);

/// 16-bit floats travel as 16-bit integers.
MpiHandle to_mpi(DType type);

/// Reductions defined in reduction.hpp that MPI lacks.
class MpiReductions {
 public:
  MpiReductions();
  ~MpiReductions();
  MpiReductions(const MpiReductions&) = delete;
  MpiReductions& operator=(const MpiReductions&) = delete;

  /// For an average, returns the sum: the caller divides at the end.
  MpiReduction find(DType type, ReduceOp op) const;

 private:
  MpiHandle operation(DType type, ReduceOp op) const;

  MpiHandle min_f32_ = 0;
  MpiHandle max_f32_ = 0;
  MpiHandle min_f64_ = 0;
  MpiHandle max_f64_ = 0;
  MpiHandle sum_f16_ = 0;
  MpiHandle min_f16_ = 0;
  MpiHandle max_f16_ = 0;
  MpiHandle sum_bf16_ = 0;
  MpiHandle min_bf16_ = 0;
  MpiHandle max_bf16_ = 0;
};

}  // namespace dllaunch

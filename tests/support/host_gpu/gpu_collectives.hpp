// NCCL for fake GPUs, one per process: host memory over MPI. Reports what the real one would not
// notice and would answer with a wrong sum or a hang: ranks that pass different pieces of the
// arena, memory of another device, a collective that is not ordered after the GPU's work.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu_api.hpp"

namespace dllaunch {

constexpr const char* gpu_collectives = "fake NCCL";

enum ncclResult_t { ncclSuccess, ncclInProgress, ncclInvalidUsage, ncclUnhandledCudaError };
enum ncclDataType_t { ncclFloat32, ncclFloat64, ncclFloat16, ncclBfloat16, ncclInt64, ncclUint8 };
enum ncclRedOp_t { ncclSum, ncclAvg, ncclMin, ncclMax };
struct ncclUniqueId {
  std::array<char, 128> internal;
};
struct ncclConfig_t {
  int blocking = 1;
};
constexpr ncclConfig_t NCCL_CONFIG_INITIALIZER = {};

constexpr std::int64_t host_all_reduce = 1;
constexpr std::int64_t host_reduce_scatter = 2;
constexpr std::int64_t host_all_gather = 3;
constexpr std::int64_t host_broadcast = 4;

/// A collective as one rank calls it. Plain numbers, since they are sent.
struct HostCollective {
  std::int64_t kind = 0;
  std::int64_t offset = 0;  // bytes from the beginning of the allocation
  std::int64_t count = 0;
  std::int64_t type = 0;
  std::int64_t op = 0;
  friend bool operator==(const HostCollective&, const HostCollective&) = default;
};

/// Inspected by tests.
struct HostCollectives {
  std::vector<std::string> devices = {};   // PCI address of each rank's, at the start
  std::vector<HostCollective> calls = {};  // of this rank
  std::vector<std::string> complaints = {};
  /// A call on a non-blocking communicator goes on for so many questions of how it is.
  int background = 0;
  ncclResult_t end = ncclSuccess;         // of ncclCommFinalize()
  std::vector<std::string> closing = {};  // the calls that closed communicators
};
inline HostCollectives& host_collectives() {
  static HostCollectives seen;
  return seen;
}

struct HostComm {
  MPI_Comm calls = MPI_COMM_NULL;  // to compare the ranks' calls
  MPI_Comm sums = MPI_COMM_NULL;
  int ranks = 1;
  int rank = 0;
  int device = 0;
  bool blocks = true;
  int busy = 0;                        // questions until the call in the background ends
  const HostStream* stream = nullptr;  // of the last collective
};
using ncclComm_t = HostComm*;

/// What a call returns whose work has begun.
inline ncclResult_t host_begun(ncclComm_t comm) {
  HostCollectives& seen = host_collectives();
  if (comm->busy > 0) seen.complaints.emplace_back("the call before is still in progress");
  comm->busy = comm->blocks ? 0 : seen.background;
  return comm->busy > 0 ? ncclInProgress : ncclSuccess;
}

inline ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
inline const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclInvalidUsage ? "invalid usage" : "fake error";
}
inline ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  id->internal.fill('d');
  return ncclSuccess;
}

/// Like the real one, rejects two ranks on one device. All ranks of the program call it, in groups
/// of `ranks` that follow each other.
inline ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int ranks, const ncclUniqueId& id,
                                           int rank, const ncclConfig_t* config) {
  if (id.internal[0] != 'd') return ncclInvalidUsage;
  auto comm = std::make_unique<HostComm>();
  int in_world = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &in_world);
  MPI_Comm_split(MPI_COMM_WORLD, in_world / ranks, rank, &comm->calls);
  MPI_Comm_dup(comm->calls, &comm->sums);
  comm->ranks = ranks;
  comm->rank = rank;
  comm->blocks = config->blocking != 0;
  comm->device = host_gpu_of_thread();
  std::vector<std::array<char, 32>> all(static_cast<std::size_t>(ranks));
  std::array<char, 32> mine{};
  const auto address = plain_pci_address(host_gpus().pci[static_cast<std::size_t>(comm->device)]);
  std::ranges::copy(address.substr(0, mine.size() - 1), mine.begin());
  MPI_Allgather(mine.data(), 32, MPI_CHAR, all.data(), 32, MPI_CHAR, comm->calls);
  auto& devices = host_collectives().devices;
  devices.clear();
  for (const auto& one : all) devices.emplace_back(one.data());
  *made = comm.release();
  auto sorted = devices;
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) == sorted.end() ? ncclSuccess : ncclInvalidUsage;
}
inline ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* result) {
  *result = comm->busy > 0 && --comm->busy > 0 ? ncclInProgress : ncclSuccess;
  return ncclSuccess;
}
inline ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  host_collectives().closing.emplace_back("finalize");
  const ncclResult_t begun = host_begun(comm);
  return host_collectives().end == ncclSuccess ? begun : host_collectives().end;
}
inline ncclResult_t host_free(ncclComm_t comm) {
  MPI_Comm_free(&comm->calls);
  MPI_Comm_free(&comm->sums);
  delete comm;
  return ncclSuccess;
}
inline ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  host_collectives().closing.emplace_back("destroy");
  if (comm->busy > 0) host_collectives().complaints.emplace_back("destroyed while in progress");
  if (comm->stream != nullptr && !host_gpus().streams.contains(comm->stream)) {
    host_collectives().complaints.emplace_back("its stream is destroyed before it");
  }
  return host_free(comm);
}
inline ncclResult_t ncclCommAbort(ncclComm_t comm) {
  host_collectives().closing.emplace_back("abort");
  return host_free(comm);
}

inline ncclResult_t ncclMemAlloc(void** memory, std::size_t bytes) {
  return gpu_allocate(memory, bytes) == gpu_success ? ncclSuccess : ncclUnhandledCudaError;
}
inline ncclResult_t ncclMemFree(void* memory) {
  host_collectives().closing.emplace_back("free");
  return gpu_free(memory) == gpu_success ? ncclSuccess : ncclUnhandledCudaError;
}
inline ncclResult_t ncclCommRegister(ncclComm_t, void* memory, std::size_t, void** handle) {
  *handle = memory;
  return ncclSuccess;
}
inline ncclResult_t ncclCommDeregister(ncclComm_t, void*) {
  host_collectives().closing.emplace_back("deregister");
  return ncclSuccess;
}

/// A collective on a stream: the ranks first compare their calls, then perform it.
class HostWork {
 public:
  using Start = std::function<void(MPI_Request&)>;

  HostWork(ncclComm_t comm, const HostCollective& call, void* data, std::size_t bytes, Start start)
      : comm_(comm),
        call_(call),
        data_(data),
        bytes_(bytes),
        start_(std::move(start)),
        all_(static_cast<std::size_t>(comm->ranks)) {
    MPI_Iallgather(&call_, words, MPI_INT64_T, all_.data(), words, MPI_INT64_T, comm_->calls,
                   &compare_);
  }

  /// Returns true when done; not called again after that.
  bool step() {
    int done = 0;
    if (compare_ != MPI_REQUEST_NULL) {
      MPI_Test(&compare_, &done, MPI_STATUS_IGNORE);
      if (done == 0) return false;
      if (!same()) return true;
      start_(move_);
    }
    MPI_Test(&move_, &done, MPI_STATUS_IGNORE);
    return done != 0;
  }

 private:
  static constexpr int words = sizeof(HostCollective) / sizeof(std::int64_t);

  bool same() {
    for (std::size_t rank = 0; rank < all_.size(); ++rank) {
      if (all_[rank] == all_[0]) continue;
      host_collectives().complaints.push_back(
          "rank " + std::to_string(rank) + " brings " + std::to_string(all_[rank].count) +
          " numbers from byte " + std::to_string(all_[rank].offset) + ", rank 0 " +
          std::to_string(all_[0].count) + " from byte " + std::to_string(all_[0].offset));
      std::memset(data_, 0xFF, bytes_);  // NaN
      return false;
    }
    return true;
  }

  ncclComm_t comm_;
  HostCollective call_;
  void* data_;
  std::size_t bytes_;
  Start start_;
  std::vector<HostCollective> all_;
  MPI_Request compare_ = MPI_REQUEST_NULL;
  MPI_Request move_ = MPI_REQUEST_NULL;
};

inline std::size_t host_bytes_of(ncclDataType_t type) {
  constexpr std::array<std::size_t, 6> sizes = {4, 8, 2, 2, 8, 1};
  return sizes[type];
}

/// `memory` has all `count` elements of the collective.
inline ncclResult_t host_collective(HostCollective call, void* memory, ncclComm_t comm,
                                    GpuStream stream, HostWork::Start start) {
  HostCollectives& seen = host_collectives();
  const int device = host_gpu_of(memory);
  if (device != comm->device || host_gpu_of_thread() != comm->device) {
    seen.complaints.emplace_back("memory of another device than the rank's own");
  }
  if (stream == nullptr || stream->follows != host_gpu_work()) {
    seen.complaints.emplace_back("it does not come after the GPU's work so far");
  }
  call.offset = host_gpu_offset(memory);
  seen.calls.push_back(call);
  if (stream == nullptr) return ncclInvalidUsage;
  const auto bytes =
      static_cast<std::size_t>(call.count) * host_bytes_of(static_cast<ncclDataType_t>(call.type));
  auto work = std::make_shared<HostWork>(comm, call, memory, bytes, std::move(start));
  stream->work.emplace_back([work] { return work->step(); });
  ++stream->given;
  comm->stream = stream;
  return host_begun(comm);
}

/// In place, of floats, as for gradients.
inline ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count,
                                  ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                                  GpuStream stream) {
  if (from != to || type != ncclFloat32 || op != ncclSum) return ncclInvalidUsage;
  const auto elements = static_cast<int>(count);
  return host_collective({.kind = host_all_reduce, .count = elements, .type = type, .op = op}, to,
                         comm, stream, [=](MPI_Request& request) {
                           MPI_Iallreduce(MPI_IN_PLACE, to, elements, MPI_FLOAT, MPI_SUM,
                                          comm->sums, &request);
                         });
}

/// As the communicator calls it: the result is the rank's own part of its input.
inline ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count,
                                      ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                                      GpuStream stream) {
  auto* const whole = static_cast<float*>(const_cast<void*>(from));
  if (to != whole + static_cast<std::size_t>(comm->rank) * count) return ncclInvalidUsage;
  if (type != ncclFloat32 || op != ncclSum) return ncclInvalidUsage;
  const auto all = static_cast<int>(count) * comm->ranks;
  return host_collective({.kind = host_reduce_scatter, .count = all, .type = type, .op = op}, whole,
                         comm, stream, [=](MPI_Request& request) {
                           MPI_Iallreduce(MPI_IN_PLACE, whole, all, MPI_FLOAT, MPI_SUM, comm->sums,
                                          &request);
                         });
}

inline ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count,
                                  ncclDataType_t type, ncclComm_t comm, GpuStream stream) {
  const auto bytes = static_cast<int>(count * host_bytes_of(type));
  if (from != static_cast<std::byte*>(to) + comm->rank * bytes) return ncclInvalidUsage;
  const auto all = static_cast<std::int64_t>(count) * comm->ranks;
  return host_collective({.kind = host_all_gather, .count = all, .type = type}, to, comm, stream,
                         [=](MPI_Request& request) {
                           MPI_Iallgather(MPI_IN_PLACE, 0, MPI_BYTE, to, bytes, MPI_BYTE,
                                          comm->sums, &request);
                         });
}

inline ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count,
                                  ncclDataType_t type, int root, ncclComm_t comm,
                                  GpuStream stream) {
  if (from != to) return ncclInvalidUsage;
  const auto bytes = static_cast<int>(count * host_bytes_of(type));
  return host_collective(
      {.kind = host_broadcast, .count = static_cast<std::int64_t>(count), .type = type, .op = root},
      to, comm, stream,
      [=](MPI_Request& request) { MPI_Ibcast(to, bytes, MPI_BYTE, root, comm->sums, &request); });
}

}  // namespace dllaunch

// NCCL and RCCL features that depend on their version.
#pragma once

#include <climits>
#include <cstddef>

#include "gpu_api.hpp"
#include "gpu_collectives.hpp"

namespace dllaunch {

/// Starts without blocking if the library can (2.14), so that the start can be abandoned.
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 14, 0)
inline ncclResult_t start_communicator(ncclComm_t& comm, int ranks, const ncclUniqueId& id,
                                       int rank) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  return ncclCommInitRankConfig(&comm, ranks, id, rank, &config);
}
inline bool is_on_its_way(ncclResult_t result) {
  return result == ncclInProgress;
}
#else
inline ncclResult_t start_communicator(ncclComm_t& comm, int ranks, const ncclUniqueId& id,
                                       int rank) {
  return ncclCommInitRank(&comm, ranks, id, rank);
}
inline bool is_on_its_way(ncclResult_t) {
  return false;
}
#endif

/// Peers and network cards access a registered buffer in place (2.19).
struct RegisteredBuffer {
  void* memory = nullptr;
  void* handle = nullptr;  // nullptr: not registered
};

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 0)
inline ncclResult_t allocate_buffer(ncclComm_t comm, std::size_t bytes, RegisteredBuffer& buffer) {
  const ncclResult_t made = ncclMemAlloc(&buffer.memory, bytes);
  return made == ncclSuccess ? ncclCommRegister(comm, buffer.memory, bytes, &buffer.handle) : made;
}
inline void free_buffer(ncclComm_t comm, const RegisteredBuffer& buffer) {
  if (buffer.handle != nullptr) ncclCommDeregister(comm, buffer.handle);
  ncclMemFree(buffer.memory);
}
#else
inline ncclResult_t allocate_buffer(ncclComm_t, std::size_t bytes, RegisteredBuffer& buffer) {
  return gpu_allocate(&buffer.memory, bytes) == gpu_success ? ncclSuccess : ncclUnhandledCudaError;
}
inline void free_buffer(ncclComm_t, const RegisteredBuffer& buffer) {
  static_cast<void>(gpu_free(buffer.memory));
}
#endif

}  // namespace dllaunch

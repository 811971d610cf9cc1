// NCCL and RCCL features that depend on their version.
#pragma once

#include <climits>
#include <cstddef>

#include "gpu_api.hpp"
#include "gpu_collectives.hpp"

namespace dllaunch {

/// Whether the library can work in the background (2.14): a start can then be abandoned.
///
/// A communicator is non-blocking for life. What that costs each collective depends on the version:
/// up to about 2.24, and in RCCL, nothing once ranks are connected; later NCCL starts a thread for
/// each, and the call returns when that has ended. DLLAUNCH_NCCL_BLOCKING=1 makes the start and all
/// calls blocking; then only the watchdog ends a start that hangs.
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 14, 0)
inline ncclResult_t start_communicator(ncclComm_t& comm, int ranks, const ncclUniqueId& id,
                                       int rank, bool blocks) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = blocks ? 1 : 0;
  return ncclCommInitRankConfig(&comm, ranks, id, rank, &config);
}
inline bool is_on_its_way(ncclResult_t result) {
  return result == ncclInProgress;
}
/// Completes all of this rank's work with its peers, which may still need it.
inline ncclResult_t finish_communicator(ncclComm_t comm) {
  return ncclCommFinalize(comm);
}
#else
inline ncclResult_t start_communicator(ncclComm_t& comm, int ranks, const ncclUniqueId& id,
                                       int rank, bool) {
  return ncclCommInitRank(&comm, ranks, id, rank);
}
inline bool is_on_its_way(ncclResult_t) {
  return false;
}
inline ncclResult_t finish_communicator(ncclComm_t) {
  return ncclSuccess;
}
#endif

/// Peers and network cards access a registered buffer in place (2.19).
struct RegisteredBuffer {
  void* memory = nullptr;
  void* handle = nullptr;  // nullptr: not registered
};

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 0)
inline ncclResult_t allocate_buffer(std::size_t bytes, RegisteredBuffer& buffer) {
  return ncclMemAlloc(&buffer.memory, bytes);
}
inline ncclResult_t register_buffer(ncclComm_t comm, std::size_t bytes, RegisteredBuffer& buffer) {
  return ncclCommRegister(comm, buffer.memory, bytes, &buffer.handle);
}
inline ncclResult_t deregister_buffer(ncclComm_t comm, const RegisteredBuffer& buffer) {
  return buffer.handle == nullptr ? ncclSuccess : ncclCommDeregister(comm, buffer.handle);
}
inline ncclResult_t free_buffer(const RegisteredBuffer& buffer) {
  return ncclMemFree(buffer.memory);
}
#else
inline ncclResult_t allocate_buffer(std::size_t bytes, RegisteredBuffer& buffer) {
  return gpu_allocate(&buffer.memory, bytes) == gpu_success ? ncclSuccess : ncclUnhandledCudaError;
}
inline ncclResult_t register_buffer(ncclComm_t, std::size_t, RegisteredBuffer&) {
  return ncclSuccess;
}
inline ncclResult_t deregister_buffer(ncclComm_t, const RegisteredBuffer&) {
  return ncclSuccess;
}
inline ncclResult_t free_buffer(const RegisteredBuffer& buffer) {
  return gpu_free(buffer.memory) == gpu_success ? ncclSuccess : ncclUnhandledCudaError;
}
#endif

}  // namespace dllaunch

#include "trainer/backends/gpu/memory/pinned_pool.hpp"

#include <map>
#include <mutex>

#include "gpu_api.hpp"

namespace dllaunch::gpu {

/// Shared with the allocations: a loader may free them on any thread.
struct PinnedPool::Kept {
  std::mutex mutex = {};
  std::multimap<std::size_t, void*> spare = {};  // by size

  ~Kept() {
    for (const auto& [bytes, memory] : spare) static_cast<void>(gpu_free_on_host(memory));
  }
};

PinnedPool::PinnedPool() : kept_(std::make_shared<Kept>()) {}

std::shared_ptr<std::byte> PinnedPool::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* memory = nullptr;
  {
    const std::lock_guard lock(kept_->mutex);
    if (const auto fit = kept_->spare.find(bytes); fit != kept_->spare.end()) {
      memory = fit->second;
      kept_->spare.erase(fit);
    }
  }
  if (memory == nullptr && gpu_allocate_on_host(&memory, bytes) != gpu_success) {
    gpu_clear_error();  // it is reported here
    return nullptr;
  }
  const auto give_back = [kept = kept_, bytes](std::byte* at) {
    const std::lock_guard lock(kept->mutex);
    kept->spare.emplace(bytes, at);
  };
  return {static_cast<std::byte*>(memory), give_back};
}

}  // namespace dllaunch::gpu

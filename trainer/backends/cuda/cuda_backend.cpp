// The cuda backend as dltrain sees it: a module beside the program, loaded where there is a driver.
#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "trainer/backends/cuda/module.hpp"
#include "trainer/backends/gpu/precisions.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr const char* driver = "libcuda.so.1";
constexpr const char* module_name = "libdltrain_cuda.so";

Error missing(std::string what) {
  return Error{ErrorKind::unavailable, std::move(what), "use device cpu"};
}

std::string last_words() {
  const char* said = ::dlerror();
  return said == nullptr ? "no reason given" : said;
}

bool has_driver() {
  return ::dlopen(driver, RTLD_NOW | RTLD_LOCAL) != nullptr;
}

/// It stays loaded: the backend's code is in it. Hundreds of megabytes come with it, so nothing is
/// loaded where there is no driver to use them.
Result<void (*)(CudaOpening&)> load() {
  if (!has_driver()) {
    return missing(fmt::format("no GPU: no NVIDIA driver: {}", last_words()));
  }
  std::error_code unreadable;
  const fs::path file = fs::read_symlink("/proc/self/exe", unreadable).parent_path() / module_name;
  void* module = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* entry = module == nullptr ? nullptr : ::dlsym(module, "dllaunch_open_cuda");
  if (entry == nullptr) return missing(fmt::format("it cannot be loaded: {}", last_words()));
  return reinterpret_cast<void (*)(CudaOpening&)>(entry);
}

Result<std::unique_ptr<Backend>> open() {
  auto entry = load();
  if (!entry) return std::move(entry).error();
  auto rank = read_rank_env(process_environment());
  if (!rank) return std::move(rank).error();
  CudaOpening opening{.rank = *rank, .lookup = process_environment()};
  (*entry)(opening);
  return *std::move(opening.opened);
}

std::string version() {
  return DLLAUNCH_CUDA_VERSIONS;
}

}  // namespace

extern const BackendEntry cuda_backend;
const BackendEntry cuda_backend{
    .name = "cuda",
    .device = "cuda",
    .version = version,
    .open = open,
    .expected = has_driver,
    .precisions = gpu::precisions,
    .gpu_memory = DLLAUNCH_HAS_NCCL != 0,  // nobody else reduces it
    .caution =
        "backend cuda has been tested without a GPU only: compare its losses with device "
        "cpu before you trust them (docs/gpu.md)"};

}  // namespace dllaunch

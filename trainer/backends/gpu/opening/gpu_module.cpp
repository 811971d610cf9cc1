#include "trainer/backends/gpu/opening/gpu_module.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include <utility>

#include "support/shared_library.hpp"
#include "trainer/backends/gpu/opening/gpu_opening.hpp"

namespace dllaunch::gpu {

namespace fs = std::filesystem;

Error no_gpu(std::string what) {
  return Error{ErrorKind::unavailable, std::move(what), "use device cpu"};
}

fs::path own_folder() {
  const auto program = own_file();
  return program ? fs::path(*program).parent_path() : fs::path();
}

Result<std::unique_ptr<Backend>> open_module(const GpuModule& module, const fs::path& folder) {
  void* loaded = ::dlopen((folder / module.file).c_str(), RTLD_NOW | RTLD_LOCAL);
  void* entry = loaded == nullptr ? nullptr : ::dlsym(loaded, module.entry.c_str());
  if (entry == nullptr) {
    const char* said = ::dlerror();
    return no_gpu(fmt::format("it cannot be loaded: {}; this build needs {}",
                              said == nullptr ? "no reason given" : said, module.needs));
  }
  auto rank = read_rank_env(process_environment());
  if (!rank) return std::move(rank).error();
  GpuOpening opening{.rank = *rank, .lookup = process_environment()};
  reinterpret_cast<void (*)(GpuOpening&)>(entry)(opening);
  return *std::move(opening.opened);
}

}  // namespace dllaunch::gpu

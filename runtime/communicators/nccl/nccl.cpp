#include "runtime/communicators/nccl/nccl.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "runtime/communicators/host/host_communicator.hpp"
#include "runtime/gpu/drivers.hpp"
#include "support/shared_library.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

struct Module {
  const char* file;
  bool (*has_driver)();
};
/// The same source built with either vendor's library; a build may have both.
constexpr std::array modules = {Module{"libdltrain_nccl.so", has_nvidia_driver},
                                Module{"libdltrain_rccl.so", has_amd_driver}};

using Open = void (*)(NcclOpening&);

Error missing(std::string what) {
  return Error{ErrorKind::unavailable, std::move(what), "use runtime.allreduce: auto"};
}

/// Loads the module for good: the communicator's code is in it.
Result<Open> load() {
  const fs::path folder = own_folder();
  if (folder.empty()) return missing("nccl cannot be found: /proc cannot be read");
  std::vector<Module> built;
  for (const Module& module : modules) {
    if (fs::exists(folder / module.file)) built.push_back(module);
  }
  if (built.empty()) {
    return missing(
        fmt::format("this build has no nccl: no {} in {}", modules[0].file, folder.string()));
  }
  // If both are built, the one for the GPUs present comes first.
  if (built.size() > 1)
    std::stable_partition(built.begin(), built.end(), [](auto& m) { return m.has_driver(); });
  void* module = ::dlopen((folder / built[0].file).c_str(), RTLD_NOW | RTLD_LOCAL);
  void* entry = module == nullptr ? nullptr : ::dlsym(module, "dllaunch_open_nccl");
  if (entry != nullptr) return reinterpret_cast<Open>(entry);
  const char* said = ::dlerror();
  return missing(
      fmt::format("nccl cannot be loaded: {}", said == nullptr ? "no reason given" : said));
}

}  // namespace

Result<std::unique_ptr<Communicator>> open_nccl_over(std::unique_ptr<Communicator>& host,
                                                     const RankEnv& env) {
  auto open = load();
  // A rank without the module would leave the others waiting inside it.
  std::int64_t without = open ? 0 : 1;
  host->wait(host->all_reduce(&without, 1, DType::i64, ReduceOp::max));
  if (!open) return std::move(open).error();
  if (without != 0) return missing("nccl cannot be loaded on another rank");
  NcclOpening opening{.host = &host, .env = &env};
  (*open)(opening);
  return *std::move(opening.opened);
}

Result<std::unique_ptr<Communicator>> open_nccl(const RankEnv& env) {
  auto host = open_host_communicator(env);
  if (!host) return host;
  return open_nccl_over(*host, env);
}

}  // namespace dllaunch

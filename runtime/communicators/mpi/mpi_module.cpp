#include "runtime/communicators/mpi/mpi_module.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <optional>

#include "runtime/rank/mpi_module_file.hpp"

namespace dllaunch {
namespace {

constexpr const char* build_one =
    "build one for the MPI here: dllaunch build-mpi-module; or do without: DLLAUNCH_TRANSPORT=tcp";

const MpiTable* functions = nullptr;

std::string last_dl_error() {
  const char* said = ::dlerror();
  return said == nullptr ? "no reason given" : said;
}

}  // namespace

std::string library_name(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, text.find_first_of(",\n"))) {
    const bool blank = c == ' ' || c == '\t';
    if (!blank) name += c;
    if (blank && !name.empty() && name.back() != ' ') name += ' ';
  }
  return name;
}

bool fits_library(std::string_view compiled_with, std::string_view library) {
  constexpr std::string_view release = "Open MPI v";
  constexpr std::string_view open_mpi = "Open MPI ";
  const bool with_open_mpi = compiled_with.starts_with(open_mpi);
  if (compiled_with.starts_with("MPI ABI ")) return true;
  if (!library.starts_with(release)) {
    return !with_open_mpi || library.find("MPICH") == std::string_view::npos;
  }
  library.remove_prefix(release.size());
  const auto major = library.substr(0, library.find('.') + 1);
  return with_open_mpi && compiled_with.substr(open_mpi.size()).starts_with(major);
}

MpiModule open_mpi_module(const std::string& path) {
  MpiModule module{.path = path};
  // Open MPI's components search for its functions in the program's scope.
  void* loaded = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* entry = loaded == nullptr ? nullptr : ::dlsym(loaded, "dltrain_mpi_table");
  if (entry == nullptr) {
    module.problem = fmt::format("the MPI module {} cannot be loaded: {}", path, last_dl_error());
    return module;
  }
  const MpiTable* table = reinterpret_cast<const MpiTable* (*)()>(entry)();
  if (table->version != mpi_table_version) {
    module.problem = fmt::format("the MPI module {} has version {} of the table, dltrain has {}",
                                 path, table->version, static_cast<int>(mpi_table_version));
    return module;
  }
  module.table = table;
  module.fits = table->fits;
  module.library = library_name(table->library());
  if (!fits_library(module.fits, module.library)) {
    module.problem = fmt::format("the MPI module {} is for {}, but the MPI library here is {}",
                                 path, module.fits, module.library);
  }
  return module;
}

Result<const MpiModule*> load_mpi(const EnvLookup& lookup) {
  static std::optional<MpiModule> loaded;
  if (!loaded) {
    const auto path = find_mpi_module(lookup);
    if (!path) return Error{ErrorKind::unavailable, "there is no MPI module", build_one};
    MpiModule module = open_mpi_module(*path);
    if (!module.problem.empty()) {
      return Error{ErrorKind::unavailable, std::move(module.problem), build_one};
    }
    functions = module.table;
    loaded = std::move(module);
  }
  return &*loaded;
}

const MpiTable& mpi() {
  assert(functions != nullptr);
  return *functions;
}

}  // namespace dllaunch

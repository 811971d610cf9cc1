#include "launcher/staging/container_shim.hpp"

#include <fmt/core.h>
#include <link.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "support/shared_library.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

struct Loaded {
  std::vector<fs::path> libraries;  // the loader among them
  std::string loader;               // its file name, as the program wants it
};

/// Takes one object of this process, for dl_iterate_phdr().
int take(dl_phdr_info* object, std::size_t /*bytes*/, void* into) {
  auto& loaded = *static_cast<Loaded*>(into);
  const fs::path path = object->dlpi_name;
  if (path.is_absolute()) loaded.libraries.push_back(path);  // the kernel's own has no path
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& header = object->dlpi_phdr[i];
    if (header.p_type != PT_INTERP || !path.empty()) continue;
    const auto* const interpreter =
        reinterpret_cast<const char*>(object->dlpi_addr + header.p_vaddr);
    loaded.loader = fs::path(interpreter).filename();
  }
  return 0;
}

/// A rank of an earlier start may still run the file that was there.
Result<Ok> replace(const fs::path& to, const fs::path& from) {
  std::error_code error;
  fs::remove(to, error);
  if (!error) fs::copy_file(from, to, error);
  if (!error) return Ok{};
  return Error{ErrorKind::unavailable,
               fmt::format("cannot copy {} to {}: {}", from.string(), to.string(), error.message()),
               ""};
}

}  // namespace

Result<Ok> copy_container_shim(const std::string& folder) {
  const auto program = own_file();
  if (!program) return program.error();
  Loaded loaded;
  ::dl_iterate_phdr(take, &loaded);
  const fs::path to = folder;
  std::error_code error;
  fs::create_directories(to, error);
  auto done = replace(to / "dllaunch", *program);
  for (const auto& library : loaded.libraries) {
    if (!done) return done;
    const auto name = library.filename();
    done = replace(to / (name == loaded.loader ? fs::path("ld.so") : name), library);
  }
  return done;
}

}  // namespace dllaunch

#include "launcher/staging/container_shim.hpp"

#include <fmt/core.h>
#include <link.h>

#include <filesystem>
#include <map>
#include <system_error>

#include "launcher/os/atomic_file.hpp"
#include "support/shared_library.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr const char* loader_name = "ld.so";
using Copies = std::map<std::string, fs::path>;  // from where, by name

/// Takes the path of one object of this process, for dl_iterate_phdr(), and the name of its copy.
int take(dl_phdr_info* object, std::size_t /*bytes*/, void* into) {
  const fs::path path = object->dlpi_name;
  if (!path.is_absolute()) return 0;  // the program, and what the kernel brings
  const bool is_loader = object->dlpi_addr == _r_debug.r_ldbase;
  static_cast<Copies*>(into)->emplace(is_loader ? loader_name : path.filename().string(), path);
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
  Copies copies;
  ::dl_iterate_phdr(take, &copies);
  if (!copies.contains(loader_name)) {
    return Error{ErrorKind::unavailable, "the loader of this process is unknown", ""};
  }
  const fs::path to = folder;
  if (auto made = make_closed_folder(folder); !made)
    return Error{ErrorKind::unavailable, made.error().what, ""};
  copies.emplace("dllaunch", *program);
  for (const auto& [name, from] : copies) {
    if (auto done = replace(to / name, from); !done) return done;
  }
  return Ok{};
}

}  // namespace dllaunch

#include "support/shared_library.hpp"

#include <dlfcn.h>

#include <charconv>
#include <cstdint>
#include <fstream>

namespace dllaunch {
namespace {

/// Whether a line of /proc/PID/maps ("55d0-55f0 r-xp 00000000 fe:00 123   /usr/bin/x") is of a
/// range with this address in it.
bool has_address(const std::string& line, std::uintptr_t address) {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  const char* last = line.data() + line.size();
  const char* dash = std::from_chars(line.data(), last, begin, 16).ptr;
  if (dash == last) return false;
  std::from_chars(dash + 1, last, end, 16);
  return begin <= address && address < end;
}

}  // namespace

SharedLibrary::SharedLibrary(const std::string& name)
    : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ != nullptr) return;
  const char* said = dlerror();
  why_ = said == nullptr ? "it cannot be opened" : said;
  // The same error for one of the library's own dependencies is worth reporting.
  if (why_.starts_with(name + ": cannot open shared object file: No such file")) why_.clear();
}

void* SharedLibrary::symbol(const char* name) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

// Not /proc/self/exe: in a bundle that is the loader (docs/decisions/0024).
Result<std::string> own_file() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto path = line.find('/');
    if (path != std::string::npos && has_address(line, reinterpret_cast<std::uintptr_t>(&own_file)))
      return line.substr(path);
  }
  return Error{ErrorKind::unavailable, "cannot read /proc/self/maps", ""};
}

std::filesystem::path own_folder() {
  const auto file = own_file();
  return file ? std::filesystem::path(*file).parent_path() : std::filesystem::path();
}

}  // namespace dllaunch

#include "support/shared_library.hpp"

#include <dlfcn.h>

namespace dllaunch {

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

}  // namespace dllaunch

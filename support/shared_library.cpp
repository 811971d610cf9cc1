#include "support/shared_library.hpp"

#include <dlfcn.h>

namespace dllaunch {

SharedLibrary::SharedLibrary(const std::string& name)
    : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ != nullptr) return;
  const char* said = dlerror();
  why_ = said == nullptr ? "it does not open" : said;
  // A missing library of the library is named in its stead; that one is worth telling.
  if (why_.starts_with(name + ": cannot open shared object file: No such file")) why_.clear();
}

void* SharedLibrary::symbol(const char* name) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

}  // namespace dllaunch

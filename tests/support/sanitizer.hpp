// What a test cannot see in a program built with ThreadSanitizer.
#pragma once

#include <dlfcn.h>

namespace dllaunch {

/// It delivers a signal only at the next call that it intercepts, and maps memory itself.
inline bool under_thread_sanitizer() {
  return ::dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr;
}

}  // namespace dllaunch

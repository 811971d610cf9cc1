// Whether a sanitizer hides what a test looks at.
#pragma once

#include <dlfcn.h>

namespace dllaunch {

/// Returns true in a program built with ThreadSanitizer, which delivers a signal only at the next
/// call that it intercepts, and maps memory itself.
inline bool under_thread_sanitizer() {
  return ::dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr;
}

/// Returns true in a program built with AddressSanitizer or ThreadSanitizer.
inline bool under_a_sanitizer() {
  return under_thread_sanitizer() || ::dlsym(RTLD_DEFAULT, "__asan_init") != nullptr;
}

}  // namespace dllaunch

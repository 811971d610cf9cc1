// What a fuzz target promises of its input. A broken promise aborts: libFuzzer and the replay both
// keep the input that did it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace dllaunch {

inline void must_hold(bool promise, const char* what) {
  if (promise) return;
  std::fprintf(stderr, "fuzz: does not hold: %s\n", what);
  std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace dllaunch

// A shared object opened by name, with functions that may be missing; and the one that this is in.
#pragma once

#include <filesystem>
#include <string>
#include <type_traits>

#include "support/result.hpp"

namespace dllaunch {

class SharedLibrary {
 public:
  explicit SharedLibrary(const std::string& name);
  // Never closed: vendor libraries leave threads and exit handlers behind.

  bool opened() const { return handle_ != nullptr; }
  /// dlerror() if opening failed; empty if there is simply no such file.
  const std::string& why() const { return why_; }

  /// Sets `function` to the symbol `name`, or to nullptr if the library lacks it.
  template <typename Function>
  bool find(const char* name, Function*& function) const {
    static_assert(std::is_function_v<Function>);
    function = reinterpret_cast<Function*>(symbol(name));
    return function != nullptr;
  }

 private:
  void* symbol(const char* name) const;

  void* handle_ = nullptr;
  std::string why_;
};

/// Returns the absolute path of the program, or of the module, that this code is linked into.
/// unavailable: /proc cannot be read.
Result<std::string> own_file();

/// Returns the folder of that file, which holds the program's modules; empty if it is unknown.
std::filesystem::path own_folder();

}  // namespace dllaunch

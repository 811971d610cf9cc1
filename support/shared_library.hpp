// A shared object opened by name, and functions in it that may be missing.
#pragma once

#include <string>
#include <type_traits>

namespace dllaunch {

class SharedLibrary {
 public:
  explicit SharedLibrary(const std::string& name);
  // Never closed: vendor libraries leave threads and exit handlers behind.

  bool opened() const { return handle_ != nullptr; }
  /// The loader's words when it did not open; empty when there is simply no such file.
  const std::string& why() const { return why_; }

  /// Sets `function` to the symbol `name`, to nullptr when the library has none.
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

}  // namespace dllaunch

// The name of a C++ function as its author knows it.
#pragma once

#include <string>

namespace dllaunch {

/// "gloo::allreduce" of "_ZN4gloo9allreduceERNS_16AllreduceOptionsE"; other symbols unchanged.
std::string function_name(const char* symbol);

/// "std::vector<int>::push_back" of "void std::vector<int>::push_back(int const&)". Any text.
std::string without_parameters(std::string demangled);

}  // namespace dllaunch

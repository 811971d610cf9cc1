// Names of kernels in what the vendors' compilers make of kernels.cpp.
#pragma once

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <typeinfo>

#include "support/type_list.hpp"

namespace dllaunch {

inline std::string demangled(const std::string& name) {
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr), std::free);
  return text ? text.get() : name;
}

/// "SumOfTwo<float>" of "dllaunch::gpu::SumOfTwo<float>".
inline std::string without_namespaces(const std::string& type) {
  static const std::regex space(R"(dllaunch::(gpu::)?)");
  return std::regex_replace(type, space, "");
}

/// Returns the functor of a kernel, such as "SumOfTwo<float>"; for another symbol, its name.
inline std::string functor_of(const std::string& symbol) {
  static const std::regex call(R"(^void call_for_each(?:_block)?<(.*?) ?>\()");
  static const std::regex packs(R"(^InPacks<(.*?) ?>$)");
  const std::string text = without_namespaces(demangled(symbol));
  std::smatch match;
  if (!std::regex_search(text, match, call)) return text;
  return std::regex_replace(match[1].str(), packs, "$1");
}

template <typename... Functors>
std::set<std::string> listed_functors(TypeList<Functors...>) {
  return {without_namespaces(demangled(typeid(Functors).name()))...};
}

}  // namespace dllaunch

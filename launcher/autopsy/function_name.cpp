#include "launcher/autopsy/function_name.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string_view>

namespace dllaunch {
namespace {

constexpr std::string_view unnamed = "(anonymous namespace)";

bool opens(char letter) {
  return letter == '(' || letter == '<' || letter == '[' || letter == '{';
}

bool closes(char letter) {
  return letter == ')' || letter == '>' || letter == ']' || letter == '}';
}

/// Where the parameters begin: at the last parenthesis outside all brackets that is not part of a
/// name, as those of "operator()" and "(anonymous namespace)" are. npos: there are none.
std::size_t parameters_in(std::string_view text) {
  int depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    if (closes(text[i])) ++depth;
    if (opens(text[i])) --depth;
    if (depth != 0 || text[i] != '(' || text.substr(i).starts_with(unnamed)) continue;
    return text.substr(0, i).ends_with("operator") ? std::string_view::npos : i;
  }
  return std::string_view::npos;
}

/// Where the name begins: templates are demangled with the type that they return.
std::size_t name_in(std::string_view text) {
  if (text.find("operator") != std::string_view::npos) return 0;  // "operator new", "operator int"
  int depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    if (closes(text[i])) ++depth;
    if (opens(text[i])) --depth;
    if (depth == 0 && text[i] == ' ') return i + 1;
  }
  return 0;
}

}  // namespace

std::string function_name(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  return status == 0 ? without_parameters(text.get()) : symbol;
}

std::string without_parameters(std::string demangled) {
  const auto end = parameters_in(demangled);
  if (end == std::string::npos || end == 0) return demangled;
  demangled.resize(end);
  demangled.erase(0, name_in(demangled));
  return demangled;
}

}  // namespace dllaunch

// Types as a value, for tables that are known when the compiler runs.
#pragma once

#include <string_view>

namespace dllaunch {

template <typename... Types>
struct TypeList {
  template <typename... More>
  constexpr TypeList<Types..., More...> operator+(TypeList<More...>) const {
    return {};
  }
};

/// Calls visit(Type{}) for the type of the list whose `name` this is. False: none has it.
template <typename... Types, typename Visit>
constexpr bool visit_named(TypeList<Types...>, std::string_view name, const Visit& visit) {
  return ((Types::name == name && (visit(Types{}), true)) || ...);
}

}  // namespace dllaunch

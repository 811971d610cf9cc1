// The environment variables that dllaunch and dltrain read or set.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace dllaunch {

enum class SetBy : std::uint8_t { user, dllaunch, dllaunch_for_itself };

struct EnvironmentVariable {
  SetBy setter;
  std::string_view name;     // or several of one kind: "MASTER_ADDR, MASTER_PORT"
  std::string_view set_by;   // programs of dllaunch; empty: none
  std::string_view read_by;  // programs: "dltrain, your program"
  std::string_view meaning;  // with its values and [the default]
};

std::span<const EnvironmentVariable> environment_variables();

}  // namespace dllaunch

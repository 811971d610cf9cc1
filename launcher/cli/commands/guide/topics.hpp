// What `dllaunch help TOPIC` explains beside the commands.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dllaunch {

struct Topic {
  std::string_view name;
  std::string_view summary;
  std::string (*text)();  // lines of at most 80 characters
};

std::span<const Topic> topics();

/// An environment variable that people may set or read.
struct EnvironmentVariable {
  std::string_view name;
  std::string_view meaning;
};

/// Those that dllaunch reads, and those that it sets for ranks.
std::span<const EnvironmentVariable> variables_read();
std::span<const EnvironmentVariable> variables_set();

}  // namespace dllaunch

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

}  // namespace dllaunch

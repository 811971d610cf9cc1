// What `dllaunch explain` says of an id that the program prints.
#pragma once

#include <string_view>

namespace dllaunch {

struct Explanation {
  std::string_view id;
  std::string_view meaning;  // a sentence
  std::string_view cause;    // why it happens
  std::string_view remedy;   // what to do; empty: nothing
};

}  // namespace dllaunch

// The meaning of NVIDIA's driver error numbers (XIDs), and what to do.
#pragma once

#include <string_view>

namespace dllaunch {

struct XidWords {
  std::string_view meaning = {};  // "it has fallen off the bus"
  std::string_view advice = {};
};

/// Describes the errors that trainings meet; refers to NVIDIA's list for others.
XidWords xid_words(unsigned xid);

}  // namespace dllaunch

// What NVIDIA's driver means by the number of an error, and what to do about it.
#pragma once

#include <string_view>

namespace dllaunch {

struct XidWords {
  std::string_view meaning = {};  // "it has fallen off the bus"
  std::string_view advice = {};
};

/// Of the errors that trainings meet; of others a pointer to NVIDIA's list.
XidWords xid_words(unsigned xid);

}  // namespace dllaunch

// The meaning of NVIDIA's driver error numbers (XIDs), and what to do.
#pragma once

#include <string_view>

namespace dllaunch {

struct XidWords {
  std::string_view meaning = {};  // "it has fallen off the bus"
  std::string_view advice = {};
};

/// The advice for a broken GPU.
inline constexpr std::string_view replace_gpu =
    "leave the node out and tell the administrators: the GPU needs a reset";

/// Describes the errors that trainings meet; refers to NVIDIA's list for others.
XidWords xid_words(unsigned xid);

}  // namespace dllaunch

// Memories of sequences as their loops see them.
#pragma once

#include "trainer/backends/onednn/program.hpp"

namespace dllaunch::onednn {

inline float* data_of(const dnnl::memory& of) {
  return static_cast<float*>(of.get_data_handle());
}

/// Returns a memory in the layout that the loops read.
inline dnnl::memory plain_floats(Program& program, std::vector<Step>& steps,
                                 const std::string& name, const dnnl::memory& from) {
  return program.reorder_to(steps, name, from, plain_layout(dims_of(from.get_desc())));
}

}  // namespace dllaunch::onednn

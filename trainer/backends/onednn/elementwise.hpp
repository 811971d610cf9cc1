// Elementwise loops over memories of the same layout.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace dllaunch::onednn {

/// total = a + b, including padding. All have the same layout, f32 or bf16; total may be a or b.
void add_elements(const dnnl::memory& a, const dnnl::memory& b, const dnnl::memory& total);

}  // namespace dllaunch::onednn

// Loops over all elements of memories of one layout.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace dllaunch::onednn {

/// total = a + b, all of one layout, fp32 or bf16; total may be a or b. Padding is added too.
void add_elements(const dnnl::memory& a, const dnnl::memory& b, const dnnl::memory& total);

}  // namespace dllaunch::onednn

#include "trainer/backends/onednn/channel_layout.hpp"

#include <functional>
#include <numeric>

namespace dllaunch::onednn {

std::optional<ChannelLayout> channel_layout(const dnnl::memory::desc& layout) {
  const auto& blocking = layout.data.format_desc.blocking;
  const int axes = layout.data.ndims;
  if (axes < 2 || layout.data.offset0 != 0 || blocking.inner_nblks > 1) return std::nullopt;
  const auto size = [&](int axis) { return static_cast<std::size_t>(layout.data.dims[axis]); };
  const auto stride = [&](int axis) { return static_cast<std::size_t>(blocking.strides[axis]); };
  const auto padded = static_cast<std::size_t>(layout.data.padded_dims[1]);

  ChannelLayout found{.rows = size(0), .groups = 1, .pixels = 1, .lanes = padded};
  for (int axis = 2; axis < axes; ++axis) found.pixels *= size(axis);
  if (blocking.inner_nblks == 1) {
    if (blocking.inner_idxs[0] != 1) return std::nullopt;
    found.lanes = static_cast<std::size_t>(blocking.inner_blks[0]);
    found.groups = padded / found.lanes;
  } else if (axes > 2 && stride(1) != 1) {
    found.lanes = 1;
    found.groups = padded;
  }
  // Pixels must be contiguous, the last axis fastest.
  std::size_t expected = found.lanes;
  for (int axis = axes - 1; axis >= 2; --axis) {
    if (size(axis) > 1 && stride(axis) != expected) return std::nullopt;
    expected *= size(axis);
  }
  if (found.groups > 1 && stride(1) != expected) return std::nullopt;
  if (found.rows > 1 && stride(0) != expected * found.groups) return std::nullopt;
  const std::size_t element = dnnl::memory::data_type_size(layout.data_type());
  found.group_bytes = expected * element;
  found.row_bytes = expected * found.groups * element;
  return found;
}

}  // namespace dllaunch::onednn

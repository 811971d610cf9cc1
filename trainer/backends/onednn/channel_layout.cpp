#include "trainer/backends/onednn/channel_layout.hpp"

#include <functional>
#include <numeric>

#include "trainer/backends/onednn/versions.hpp"

namespace dllaunch::onednn {

std::optional<ChannelLayout> channel_layout(const dnnl::memory::desc& layout) {
  const Blocking blocking = blocking_of(layout);
  const dnnl::memory::dims sizes = dims_of(layout);
  const std::size_t axes = sizes.size();
  if (axes < 2 || blocking.offset != 0 || blocking.inner_sizes.size() > 1) return std::nullopt;
  const auto size = [&](std::size_t axis) { return static_cast<std::size_t>(sizes[axis]); };
  const auto stride = [&](std::size_t axis) {
    return static_cast<std::size_t>(blocking.strides[axis]);
  };
  const auto padded = static_cast<std::size_t>(blocking.padded[1]);

  ChannelLayout found{.rows = size(0), .groups = 1, .pixels = 1, .lanes = padded};
  for (std::size_t axis = 2; axis < axes; ++axis) found.pixels *= size(axis);
  if (!blocking.inner_sizes.empty()) {
    if (blocking.inner_axes[0] != 1) return std::nullopt;
    found.lanes = static_cast<std::size_t>(blocking.inner_sizes[0]);
    found.groups = padded / found.lanes;
  } else if (axes > 2 && stride(1) != 1) {
    found.lanes = 1;
    found.groups = padded;
  }
  // Pixels must be contiguous, the last axis fastest.
  std::size_t expected = found.lanes;
  for (std::size_t axis = axes - 1; axis >= 2; --axis) {
    if (size(axis) > 1 && stride(axis) != expected) return std::nullopt;
    expected *= size(axis);
  }
  if (found.groups > 1 && stride(1) != expected) return std::nullopt;
  if (found.rows > 1 && stride(0) != expected * found.groups) return std::nullopt;
  const std::size_t element = dnnl::memory::data_type_size(type_of(layout));
  found.group_bytes = expected * element;
  found.row_bytes = expected * found.groups * element;
  return found;
}

}  // namespace dllaunch::onednn

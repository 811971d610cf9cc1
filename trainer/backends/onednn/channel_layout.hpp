// Memory layout of the channels of a batch of images.
#pragma once

#include <cstddef>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

namespace dllaunch::onednn {

/// [rows][groups][pixels][lanes]: lane l of group g is channel g * lanes + l. Blocked layouts have
/// 8 or 16 lanes, nhwc as many as channels, nchw one.
struct ChannelLayout {
  std::size_t rows = 0;
  std::size_t groups = 0;
  std::size_t pixels = 0;
  std::size_t lanes = 0;
  std::size_t row_bytes = 0;
  std::size_t group_bytes = 0;

  std::size_t channels() const { return groups * lanes; }  // including padding
};

/// Returns the layout of a dense [n,c] or [n,c,...]; nullopt if it is not of this form.
std::optional<ChannelLayout> channel_layout(const dnnl::memory::desc& layout);

}  // namespace dllaunch::onednn

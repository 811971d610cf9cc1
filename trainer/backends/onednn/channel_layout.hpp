// How the channels of a batch of images lie in memory.
#pragma once

#include <cstddef>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

namespace dllaunch::onednn {

/// [rows][groups][pixels][lanes]: neighbouring lanes are neighbouring channels, group g begins with
/// channel g * lanes. Blocked layouts have 8 or 16 lanes, nhwc all channels, nchw one.
struct ChannelLayout {
  std::size_t rows = 0;
  std::size_t groups = 0;
  std::size_t pixels = 0;
  std::size_t lanes = 0;
  std::size_t row_bytes = 0;
  std::size_t group_bytes = 0;

  std::size_t channels() const { return groups * lanes; }  // those that pad included
};

/// Of [n,c] or [n,c,...] without gaps. Nothing where it is laid out in another way.
std::optional<ChannelLayout> channel_layout(const dnnl::memory::desc& layout);

}  // namespace dllaunch::onednn

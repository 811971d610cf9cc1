// What oneDNN 2 and oneDNN 3 name differently, under one name.
#pragma once

#include <cstddef>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <vector>

namespace dllaunch::onednn {

/// Returns the primitive descriptor of a forward pass. `words`: the arguments that both versions
/// have in common, in their order.
template <typename Forward, typename... Words>
typename Forward::primitive_desc describe_forward(const dnnl::engine& engine,
                                                  const dnnl::primitive_attr& attributes,
                                                  const Words&... words) {
#if DNNL_VERSION_MAJOR == 2
  return {typename Forward::desc(words...), attributes, engine};
#else
  return {engine, words..., attributes};
#endif
}

/// Returns the primitive descriptor of the backward pass of `forward`.
template <typename Backward, typename ForwardDesc, typename... Words>
typename Backward::primitive_desc describe_backward(const dnnl::engine& engine,
                                                    const dnnl::primitive_attr& attributes,
                                                    const ForwardDesc& forward,
                                                    const Words&... words) {
#if DNNL_VERSION_MAJOR == 2
  return {typename Backward::desc(words...), attributes, engine, forward};
#else
  return {engine, words..., forward, attributes};
#endif
}

struct ActivationKind;

/// Returns the descriptors of an activation whose x, y, dx and dy have `layout`.
dnnl::eltwise_forward::primitive_desc describe_activation(const dnnl::engine& engine,
                                                          const dnnl::primitive_attr& attributes,
                                                          dnnl::algorithm algorithm,
                                                          const ActivationKind& kind,
                                                          const dnnl::memory::desc& layout);
dnnl::eltwise_backward::primitive_desc describe_activation_backward(
    const dnnl::engine& engine, const dnnl::primitive_attr& attributes, const ActivationKind& kind,
    const dnnl::memory::desc& layout);
void append_activation(dnnl::post_ops& after, const ActivationKind& kind);

/// The windows of a pooling, without dilation.
struct PoolingWindow {
  dnnl::algorithm algorithm;
  dnnl::memory::dims kernel;  // empty: global pooling
  dnnl::memory::dims stride;
  dnnl::memory::dims padding;
};
dnnl::pooling_forward::primitive_desc describe_pooling(const dnnl::engine& engine,
                                                       const dnnl::primitive_attr& attributes,
                                                       const PoolingWindow& window,
                                                       const dnnl::memory::desc& x,
                                                       const dnnl::memory::desc& y);
dnnl::pooling_backward::primitive_desc describe_pooling_backward(
    const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
    const dnnl::pooling_forward::primitive_desc& forward, const PoolingWindow& window,
    const dnnl::memory::desc& x, const dnnl::memory::desc& y);

#if DNNL_VERSION_MAJOR == 2
inline dnnl::memory::dims dims_of(const dnnl::memory::desc& layout) {
  return layout.dims();
}
inline dnnl::memory::data_type type_of(const dnnl::memory::desc& layout) {
  return layout.data_type();
}
#else
inline dnnl::memory::dims dims_of(const dnnl::memory::desc& layout) {
  return layout.get_dims();
}
inline dnnl::memory::data_type type_of(const dnnl::memory::desc& layout) {
  return layout.get_data_type();
}
#endif

/// Whether the CPU has all of these instructions. cpu_isa values are bit sets, not ordered.
inline bool has_isa(dnnl::cpu_isa wanted) {
  const auto have = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto set = static_cast<unsigned>(wanted);
  return (have & set) == set;
}

/// How the elements of a layout lie in memory.
struct Blocking {
  dnnl::memory::dims strides;      // of each axis, in elements
  dnnl::memory::dims padded;       // size of each axis with its padding
  dnnl::memory::dims inner_sizes;  // of blocks within an axis, outermost first
  dnnl::memory::dims inner_axes;
  dnnl::memory::dim offset = 0;  // of the first element
};
Blocking blocking_of(const dnnl::memory::desc& layout);

/// Returns the layout with elements of another type; nothing where the library has no way to say
/// that.
std::optional<dnnl::memory::desc> retyped(const dnnl::memory::desc& layout,
                                          dnnl::memory::data_type type);

}  // namespace dllaunch::onednn

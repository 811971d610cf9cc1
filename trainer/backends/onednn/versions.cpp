#include "trainer/backends/onednn/versions.hpp"

#include "trainer/backends/onednn/layers.hpp"

namespace dllaunch::onednn {

using dnnl::eltwise_backward;
using dnnl::eltwise_forward;
using dnnl::memory;
using dnnl::pooling_backward;
using dnnl::pooling_forward;
using dnnl::prop_kind;

#if DNNL_VERSION_MAJOR == 2

eltwise_forward::primitive_desc describe_activation(const dnnl::engine& engine,
                                                    const dnnl::primitive_attr& attributes,
                                                    dnnl::algorithm algorithm,
                                                    const ActivationKind& kind,
                                                    const memory::desc& layout) {
  return {
      eltwise_forward::desc(prop_kind::forward_training, algorithm, layout, kind.alpha, kind.beta),
      attributes, engine};
}

eltwise_backward::primitive_desc describe_activation_backward(
    const dnnl::engine& engine, const dnnl::primitive_attr& attributes, const ActivationKind& kind,
    const memory::desc& layout) {
  return {eltwise_backward::desc(kind.backward, layout, layout, kind.alpha, kind.beta), attributes,
          engine, describe_activation(engine, attributes, kind.backward, kind, layout)};
}

void append_activation(dnnl::post_ops& after, const ActivationKind& kind) {
  after.append_eltwise(1.F, kind.forward, kind.alpha, kind.beta);
}

pooling_forward::primitive_desc describe_pooling(const dnnl::engine& engine,
                                                 const dnnl::primitive_attr& attributes,
                                                 const PoolingWindow& window, const memory::desc& x,
                                                 const memory::desc& y) {
  return {pooling_forward::desc(prop_kind::forward_training, window.algorithm, x, y, window.stride,
                                window.kernel, window.padding, window.padding),
          attributes, engine};
}

pooling_backward::primitive_desc describe_pooling_backward(
    const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
    const pooling_forward::primitive_desc& forward, const PoolingWindow& window,
    const memory::desc& x, const memory::desc& y) {
  return {pooling_backward::desc(window.algorithm, x, y, window.stride, window.kernel,
                                 window.padding, window.padding),
          attributes, engine, forward};
}

Blocking blocking_of(const memory::desc& layout) {
  const auto& inner = layout.data.format_desc.blocking;
  const auto& outer = layout.data;
  return {.strides = {inner.strides, inner.strides + outer.ndims},
          .padded = {outer.padded_dims, outer.padded_dims + outer.ndims},
          .inner_sizes = {inner.inner_blks, inner.inner_blks + inner.inner_nblks},
          .inner_axes = {inner.inner_idxs, inner.inner_idxs + inner.inner_nblks},
          .offset = outer.offset0};
}

std::optional<memory::desc> retyped(const memory::desc& layout, memory::data_type type) {
  memory::desc other = layout;
  other.data.data_type = memory::convert_to_c(type);
  return other;
}

#else

eltwise_forward::primitive_desc describe_activation(const dnnl::engine& engine,
                                                    const dnnl::primitive_attr& attributes,
                                                    dnnl::algorithm algorithm,
                                                    const ActivationKind& kind,
                                                    const memory::desc& layout) {
  return {engine,    prop_kind::forward_training, algorithm, layout, layout, kind.alpha, kind.beta,
          attributes};
}

eltwise_backward::primitive_desc describe_activation_backward(
    const dnnl::engine& engine, const dnnl::primitive_attr& attributes, const ActivationKind& kind,
    const memory::desc& layout) {
  return {engine,    kind.backward,
          layout,    layout,
          layout,    kind.alpha,
          kind.beta, describe_activation(engine, attributes, kind.backward, kind, layout),
          attributes};
}

void append_activation(dnnl::post_ops& after, const ActivationKind& kind) {
  after.append_eltwise(kind.forward, kind.alpha, kind.beta);
}

pooling_forward::primitive_desc describe_pooling(const dnnl::engine& engine,
                                                 const dnnl::primitive_attr& attributes,
                                                 const PoolingWindow& window, const memory::desc& x,
                                                 const memory::desc& y) {
  const memory::dims dilation(window.kernel.size(), 0);
  return {engine,
          prop_kind::forward_training,
          window.algorithm,
          x,
          y,
          window.stride,
          window.kernel,
          dilation,
          window.padding,
          window.padding,
          attributes};
}

pooling_backward::primitive_desc describe_pooling_backward(
    const dnnl::engine& engine, const dnnl::primitive_attr& attributes,
    const pooling_forward::primitive_desc& forward, const PoolingWindow& window,
    const memory::desc& x, const memory::desc& y) {
  const memory::dims dilation(window.kernel.size(), 0);
  return {engine,         window.algorithm, x,         y,
          window.stride,  window.kernel,    dilation,  window.padding,
          window.padding, forward,          attributes};
}

Blocking blocking_of(const memory::desc& layout) {
  return {.strides = layout.get_strides(),
          .padded = layout.get_padded_dims(),
          .inner_sizes = layout.get_inner_blks(),
          .inner_axes = layout.get_inner_idxs(),
          .offset = layout.get_submemory_offset()};
}

std::optional<memory::desc> retyped(const memory::desc& layout, memory::data_type type) {
  if (layout.get_data_type() == type) return layout;
  if (layout.get_inner_nblks() > 0 || layout.get_padded_dims() != layout.get_dims())
    return std::nullopt;
  return memory::desc(layout.get_dims(), type, layout.get_strides());
}

#endif

}  // namespace dllaunch::onednn

#include "trainer/backends/onednn/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dllaunch::onednn {

using dnnl::memory;

Program::Program(dnnl::engine engine, std::size_t parameters)
    : engine_(std::move(engine)), parameters_(parameters) {}

memory Program::allocate(const memory::desc& layout) const {
  return {layout, engine_};
}

memory Program::in_layout(std::vector<Step>& steps, const std::string& name, const memory& from,
                          const memory::desc& layout) {
  if (from.get_desc() == layout) return from;
  memory to = allocate(layout);
  const dnnl::reorder::primitive_desc reorder(engine_, from.get_desc(), engine_, layout,
                                              user_scratchpad());
  add(steps, name + " reorder", reorder, dnnl::reorder(reorder),
      {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
  return to;
}

const BoundParameter& Program::bind_parameter(int index, const memory::desc& plain,
                                              const memory::desc& layout) {
  BoundParameter& parameter = parameters_[static_cast<std::size_t>(index)];
  parameter = {.plain = plain,
               .weight = {layout, engine_, DNNL_MEMORY_NONE},
               .gradient = {layout, engine_, DNNL_MEMORY_NONE}};
  return parameter;
}

memory Program::use_scratchpad(const memory::desc& desc) {
  scratchpads_.push_back(memory(desc, engine_, DNNL_MEMORY_NONE));
  return scratchpads_.back();
}

void Program::allocate_scratchpad() {
  std::size_t bytes = 64;
  for (const memory& user : scratchpads_) bytes = std::max(bytes, user.get_desc().get_size());
  scratchpad_ =
      allocate({{static_cast<memory::dim>(bytes)}, memory::data_type::u8, memory::format_tag::a});
  for (memory& user : scratchpads_) user.set_data_handle(scratchpad_.get_data_handle());
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

memory::desc plain_layout(const memory::dims& dims) {
  memory::dims strides(dims.size(), 1);
  for (std::size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return {dims, memory::data_type::f32, strides};
}

memory::desc any_layout(const memory::dims& dims) {
  return {dims, memory::data_type::f32, memory::format_tag::any};
}

std::string describe(const memory::desc& layout) {
  const auto& blocking = layout.data.format_desc.blocking;
  std::string text = fmt::format(
      "strides {}", fmt::join(blocking.strides, blocking.strides + layout.data.ndims, ","));
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    // The axis as oneDNN writes it: a is the first.
    const char axis = static_cast<char>('a' + blocking.inner_idxs[i]);
    text += fmt::format("{}{}{}", i == 0 ? " blocks " : "", blocking.inner_blks[i], axis);
  }
  return text;
}

}  // namespace dllaunch::onednn

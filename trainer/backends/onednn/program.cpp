#include "trainer/backends/onednn/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "trainer/backends/memory_plan.hpp"
#include "trainer/backends/onednn/elementwise.hpp"

namespace dllaunch::onednn {

using dnnl::memory;

Program::Program(dnnl::engine engine, std::size_t parameters, const Numerics& numerics,
                 SumOverRanks sum_over_ranks)
    : engine_(std::move(engine)),
      numerics_(numerics),
      sum_over_ranks_(std::move(sum_over_ranks)),
      parameters_(parameters) {}

memory Program::allocate(const memory::desc& layout) {
  memory empty(layout, engine_, DNNL_MEMORY_NONE);
  index_[empty.get()] = planned_.size();
  planned_.push_back({.memory = empty});
  return empty;
}

memory Program::allocate_persistent(const memory::desc& layout) const {
  return {layout, engine_};
}

void Program::use(const memory& memory) {
  const auto found = index_.find(memory.get());
  if (found == index_.end()) return;
  Planned& planned = planned_[found->second];
  if (planned.first == 0) planned.first = steps_;
  planned.last = steps_;
}

void Program::add_loop(std::vector<Step>& steps, const std::string& name,
                       const std::string& implementation, const std::vector<memory>& memories,
                       std::function<void()> loop) {
  begin_step();
  for (const memory& one : memories) use(one);
  steps.push_back({.name = name,
                   .implementation = implementation,
                   .primitive = {},
                   .arguments = {},
                   .loop = std::move(loop)});
}

bool Program::is_shared(const memory& memory) const {
  return std::ranges::any_of(shared_, [&](const auto& one) { return one == memory; });
}

memory Program::sum(std::vector<Step>& steps, const std::string& name,
                    const std::vector<memory>& parts, const memory::desc& layout) {
  const memory::desc wanted = layout.is_zero() ? parts[0].get_desc() : layout;
  memory first = reorder_to(steps, name, parts[0], wanted);
  if (parts.size() == 1) return first;
  memory total = is_shared(first) ? allocate(wanted) : first;
  memory so_far = first;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const memory next = reorder_to(steps, name, parts[i], wanted);
    add_loop(steps, name + " sum", "own", {so_far, next, total},
             [so_far, next, total] { add_elements(so_far, next, total); });
    so_far = total;
  }
  return total;
}

void Program::offer_recompute(const memory& y, Compute compute) {
  recomputable_[y.get()] = std::move(compute);
}

memory Program::recompute(std::vector<Step>& steps, const memory& y) {
  const auto offered = recomputable_.find(y.get());
  if (offered == recomputable_.end()) return y;
  const auto [made, first] = recomputed_.try_emplace(y.get());
  if (first) made->second = offered->second(steps);
  return made->second;
}

memory Program::reorder_to(std::vector<Step>& steps, const std::string& name, const memory& from,
                           const memory::desc& layout) {
  if (from.get_desc() == layout) return from;
  memory to = allocate(layout);
  reorder(steps, name, from, to);
  return to;
}

void Program::reorder(std::vector<Step>& steps, const std::string& name, const memory& from,
                      const memory& to) {
  const dnnl::reorder::primitive_desc desc(engine_, from.get_desc(), engine_, to.get_desc(),
                                           user_scratchpad());
  add(steps, name + " reorder", desc, dnnl::reorder(desc),
      {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

void Program::bind_buffers(const Graph& graph) {
  buffers_.clear();
  for (const Buffer& buffer : graph.buffers) {
    buffers_.emplace_back(static_cast<std::size_t>(elements_of(buffer.shape)), buffer.initial);
  }
}

const BoundParameter& Program::bind_parameter(int index, const memory::desc& plain,
                                              const memory::desc& layout) {
  BoundParameter& parameter = parameters_[static_cast<std::size_t>(index)];
  parameter = {.plain = plain,
               .weight = {layout, engine_, DNNL_MEMORY_NONE},
               .gradient = {layout, engine_, DNNL_MEMORY_NONE}};
  return parameter;
}

void Program::allocate_planned() {
  recomputable_.clear();  // refers to layers, which do not outlive compilation
  recomputed_.clear();
  std::vector<Lifetime> lifetimes;
  for (const Planned& each : planned_) {
    lifetimes.push_back({each.memory.get_desc().get_size(), each.first, each.last});
  }
  const MemoryPlan plan = plan_memory(lifetimes);
  planned_bytes_ = plan.bytes;
  const auto bytes = static_cast<memory::dim>(std::max<std::size_t>(plan.bytes, 64));
  arena_ = allocate_persistent({{bytes}, memory::data_type::u8, memory::format_tag::a});
  auto* const begin = static_cast<std::byte*>(arena_.get_data_handle());
  for (std::size_t i = 0; i < planned_.size(); ++i) {
    planned_[i].memory.set_data_handle(begin + plan.offsets[i]);
  }
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

memory::desc plain_layout(const memory::dims& dims, memory::data_type type) {
  memory::dims strides(dims.size(), 1);
  for (std::size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return {dims, type, strides};
}

memory::desc any_layout(const memory::dims& dims, memory::data_type type) {
  return {dims, type, memory::format_tag::any};
}

std::string describe(const memory::desc& layout) {
  const Blocking blocking = blocking_of(layout);
  std::string text = fmt::format("strides {}", fmt::join(blocking.strides, ","));
  for (std::size_t i = 0; i < blocking.inner_sizes.size(); ++i) {
    // oneDNN's name of the axis: a is the first.
    const char axis = static_cast<char>('a' + blocking.inner_axes[i]);
    text += fmt::format("{}{}{}", i == 0 ? " blocks " : "", blocking.inner_sizes[i], axis);
  }
  return text;
}

}  // namespace dllaunch::onednn

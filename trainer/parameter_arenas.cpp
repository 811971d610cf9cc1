#include "trainer/parameter_arenas.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "trainer/initial_weights.hpp"

namespace dllaunch {
namespace {

constexpr std::align_val_t alignment{64};

ArenaLayout layout_of(const Executable& executable) {
  std::vector<std::size_t> elements;
  for (const auto& slot : executable.slots()) elements.push_back(slot.elements);
  return lay_out(executable.dtype(), elements);
}

void narrow(std::span<const double> values, DType type, void* plain) {
  if (type == DType::f64) {
    std::copy(values.begin(), values.end(), static_cast<double*>(plain));
    return;
  }
  std::transform(values.begin(), values.end(), static_cast<float*>(plain),
                 [](double value) { return static_cast<float>(value); });
}

}  // namespace

std::vector<std::string> table_rows(const Executable& executable) {
  std::vector<std::string> rows;
  for (const auto& slot : executable.slots()) {
    rows.push_back(fmt::format("{} {} {} {} {}", slot.name, to_string(slot.shape),
                               to_string(executable.dtype()), slot.layout, slot.elements));
  }
  return rows;
}

void ParameterArenas::Free::operator()(std::byte* memory) const {
  ::operator delete[](memory, alignment);
}

ParameterArenas::Memory ParameterArenas::allocate(std::size_t bytes) {
  auto* memory = static_cast<std::byte*>(::operator new[](bytes, alignment));
  std::memset(memory, 0, bytes);
  return {std::unique_ptr<std::byte[], Free>(memory), {memory, bytes}};
}

ParameterArenas::ParameterArenas(Executable& executable, Communicator& communicator,
                                 const OptimizerEntry& optimizer, const OptimizerOptions& options)
    : executable_(executable),
      communicator_(communicator),
      optimizer_(optimizer),
      options_(options),
      layout_(layout_of(executable)),
      gradients_(communicator.allocate(layout_.bytes())) {
  weights_.push_back(allocate(layout_.bytes()));
  for (const auto& name : optimizer.states(options)) {
    states_.push_back(allocate(layout_.bytes()));
    state_suffixes_.push_back("." + std::string(name));
  }
  std::vector<void*> weights;
  std::vector<void*> gradients;
  for (int slot = 0; slot < std::ssize(executable.slots()); ++slot) {
    weights.push_back(layout_.at(weights_[0].bytes, slot));
    gradients.push_back(layout_.at(gradients_, slot));
  }
  executable.attach(std::move(weights), std::move(gradients));
}

void ParameterArenas::initialise(const Graph& graph, std::uint64_t seed) {
  for (int i = 0; i < std::ssize(executable_.slots()); ++i) {
    const auto& slot = executable_.slots()[static_cast<std::size_t>(i)];
    const auto& parameter = graph.parameters[static_cast<std::size_t>(slot.parameter)];
    const std::vector<double> values = initial_weights(seed, parameter);
    std::vector<std::byte> plain(values.size() * bytes_of(layout_.type));
    narrow(values, layout_.type, plain.data());
    executable_.from_plain(i, plain.data(), layout_.at(weights_[0].bytes, i));
  }
}

void ParameterArenas::broadcast() {
  for (const auto* arenas : {&weights_, &states_}) {
    for (const auto& arena : *arenas) {
      communicator_.wait(
          communicator_.broadcast(arena.bytes.data(), layout_.total, layout_.type, /*root=*/0));
    }
  }
}

void ParameterArenas::update(double lr) {
  std::vector<void*> states(states_.size());
  for (int slot = 0; slot < std::ssize(layout_.elements); ++slot) {
    for (std::size_t s = 0; s < states_.size(); ++s) {
      states[s] = layout_.at(states_[s].bytes, slot);
    }
    optimizer_.update(layout_.type, options_, lr,
                      {.elements = layout_.elements[static_cast<std::size_t>(slot)],
                       .weights = layout_.at(weights_[0].bytes, slot),
                       .gradients = layout_.at(gradients_, slot),
                       .states = states});
  }
}

void ParameterArenas::append_tensors(const Memory& arena, const std::string& suffix,
                                     std::vector<Tensor>& tensors) const {
  for (int i = 0; i < std::ssize(executable_.slots()); ++i) {
    const auto& slot = executable_.slots()[static_cast<std::size_t>(i)];
    Tensor tensor{
        .name = slot.name + suffix, .type = layout_.type, .shape = slot.shape, .data = {}};
    tensor.data.resize(static_cast<std::size_t>(elements_of(slot.shape)) * bytes_of(tensor.type));
    executable_.to_plain(i, layout_.at(arena.bytes, i), tensor.data.data());
    tensors.push_back(std::move(tensor));
  }
}

std::vector<Tensor> ParameterArenas::weights() const {
  std::vector<Tensor> tensors;
  append_tensors(weights_[0], "", tensors);
  return tensors;
}

std::vector<Tensor> ParameterArenas::states() const {
  std::vector<Tensor> tensors;
  for (std::size_t s = 0; s < states_.size(); ++s) {
    append_tensors(states_[s], state_suffixes_[s], tensors);
  }
  return tensors;
}

Result<Ok> ParameterArenas::load(std::span<const Memory> arenas,
                                 std::span<const std::string> suffixes,
                                 std::span<const Tensor> tensors) {
  std::size_t used = 0;
  for (std::size_t a = 0; a < arenas.size(); ++a) {
    for (int i = 0; i < std::ssize(executable_.slots()); ++i) {
      const auto& slot = executable_.slots()[static_cast<std::size_t>(i)];
      const std::string name = slot.name + suffixes[a];
      const auto found = std::find_if(tensors.begin(), tensors.end(),
                                      [&](const Tensor& t) { return t.name == name; });
      if (found == tensors.end()) return Error{ErrorKind::bad_request, "has no " + name, ""};
      if (found->shape != slot.shape || found->type != layout_.type) {
        return Error{
            ErrorKind::bad_request,
            fmt::format("{} is {} {}, this run needs {} {}", name, to_string(found->type),
                        to_string(found->shape), to_string(layout_.type), to_string(slot.shape)),
            ""};
      }
      executable_.from_plain(i, found->data.data(), layout_.at(arenas[a].bytes, i));
      ++used;
    }
  }
  if (used == tensors.size()) return Ok{};
  return Error{ErrorKind::bad_request,
               fmt::format("holds {} tensors, this run needs {}", tensors.size(), used), ""};
}

Result<Ok> ParameterArenas::load_weights(std::span<const Tensor> tensors) {
  const std::string none;
  return load(weights_, {&none, 1}, tensors);
}

Result<Ok> ParameterArenas::load_states(std::span<const Tensor> tensors) {
  return load(states_, state_suffixes_, tensors);
}

}  // namespace dllaunch

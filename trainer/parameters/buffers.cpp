#include "trainer/parameters/buffers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "trainer/tensors/tensor_values.hpp"

namespace dllaunch {
namespace {

DType type_of(const Buffer& buffer, const Executable& executable) {
  return buffer.type == DType::i64 ? DType::i64 : executable.dtype();
}

/// Rounds as storing in a tensor of that type would.
double rounded(double value, DType type) {
  if (type == DType::i64) return std::nearbyint(value);
  return type == DType::f64 ? value : static_cast<double>(static_cast<float>(value));
}

std::vector<double> all_values(const Graph& graph, const Executable& executable) {
  std::vector<double> all;
  for (std::size_t i = 0; i < graph.buffers.size(); ++i) {
    const auto values = executable.buffer(static_cast<int>(i));
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

void set_all(const Graph& graph, Executable& executable, std::span<const double> all) {
  for (std::size_t i = 0; i < graph.buffers.size(); ++i) {
    const auto size = static_cast<std::size_t>(elements_of(graph.buffers[i].shape));
    const DType type = type_of(graph.buffers[i], executable);
    std::vector<double> values(size);
    std::ranges::transform(all.first(size), values.begin(),
                           [type](double value) { return rounded(value, type); });
    executable.set_buffer(static_cast<int>(i), values);
    all = all.subspan(size);
  }
}

}  // namespace

void initialise_buffers(const Graph& graph, Executable& executable) {
  for (std::size_t i = 0; i < graph.buffers.size(); ++i) {
    const auto size = static_cast<std::size_t>(elements_of(graph.buffers[i].shape));
    executable.set_buffer(static_cast<int>(i), std::vector<double>(size, graph.buffers[i].initial));
  }
}

std::vector<Tensor> buffer_tensors(const Graph& graph, const Executable& executable) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < graph.buffers.size(); ++i) {
    const Buffer& buffer = graph.buffers[i];
    const DType type = type_of(buffer, executable);
    tensors.push_back({.name = buffer.name,
                       .type = type,
                       .shape = buffer.shape,
                       .data = bytes_of(executable.buffer(static_cast<int>(i)), type)});
  }
  return tensors;
}

Result<Ok> take_buffers(const Graph& graph, Executable& executable, std::vector<Tensor>& tensors) {
  for (std::size_t i = 0; i < graph.buffers.size(); ++i) {
    const Buffer& buffer = graph.buffers[i];
    const auto found = std::ranges::find(tensors, buffer.name, &Tensor::name);
    if (found == tensors.end()) {
      return Error{ErrorKind::bad_request, fmt::format("has no tensor {}", buffer.name), ""};
    }
    const DType type = type_of(buffer, executable);
    if (found->type != type || found->shape != buffer.shape) {
      return Error{
          ErrorKind::bad_request,
          fmt::format("{} is {} {}, the model needs {} {}", buffer.name, to_string(found->type),
                      to_string(found->shape), to_string(type), to_string(buffer.shape)),
          ""};
    }
    executable.set_buffer(static_cast<int>(i), values_of(*found));
    tensors.erase(found);
  }
  return Ok{};
}

void average_buffers(const Graph& graph, Executable& executable, Communicator& communicator) {
  if (graph.buffers.empty()) return;
  std::vector<double> all = all_values(graph, executable);
  communicator.wait(communicator.all_reduce(all.data(), all.size(), DType::f64, ReduceOp::average));
  set_all(graph, executable, all);
}

void broadcast_buffers(const Graph& graph, Executable& executable, Communicator& communicator) {
  if (graph.buffers.empty()) return;
  std::vector<double> all = all_values(graph, executable);
  communicator.wait(communicator.broadcast(all.data(), all.size(), DType::f64, /*root=*/0));
  set_all(graph, executable, all);
}

}  // namespace dllaunch

#include "trainer/pipeline/stage_tensors.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "support/fatal.hpp"

namespace dllaunch {
namespace {

std::vector<std::byte> packed(std::vector<Tensor> tensors) {
  TensorFile file{.tensors = std::move(tensors), .metadata = {}};
  const std::string header = render_safetensors_header(file);
  std::vector<std::byte> bytes(header.size());
  std::memcpy(bytes.data(), header.data(), header.size());
  for (Tensor& tensor : file.tensors) {
    bytes.insert(bytes.end(), tensor.data.begin(), tensor.data.end());
    tensor.data = {};
  }
  return bytes;
}

std::vector<Tensor> unpacked(std::span<const std::byte> bytes) {
  auto file = parse_safetensors(bytes);
  if (!file) die("stages", "tensors of another stage are damaged: " + file.error().what);
  return std::move(file->tensors);
}

void send_bytes(const StageWait& stages, const void* data, std::size_t size, int to,
                std::uint64_t round) {
  const Pending sending = stages.peers->open();
  stages.peers->send(sending, static_cast<const std::byte*>(data), size, to, round);
  stages(sending, to);
}

void receive_bytes(const StageWait& stages, void* data, std::size_t size, int from,
                   std::uint64_t round) {
  const Pending receiving = stages.peers->open();
  stages.peers->receive(receiving, static_cast<std::byte*>(data), size, from, round);
  stages(receiving, from);
}

/// Messages of two rounds: the size, then so many bytes.
void send(const StageWait& stages, std::vector<Tensor> tensors, int to) {
  const std::vector<std::byte> bytes = packed(std::move(tensors));
  const std::int64_t size = std::ssize(bytes);
  send_bytes(stages, &size, sizeof size, to, 0);
  send_bytes(stages, bytes.data(), bytes.size(), to, 1);
}

std::vector<Tensor> receive(const StageWait& stages, int from) {
  std::int64_t size = 0;
  receive_bytes(stages, &size, sizeof size, from, 0);
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  receive_bytes(stages, bytes.data(), bytes.size(), from, 1);
  return unpacked(bytes);
}

}  // namespace

std::vector<Tensor> gather_tensors(const StageWait& stages, std::vector<Tensor> own) {
  if (!stages.place.is_first()) {
    send(stages, std::move(own), 0);
    return {};
  }
  std::unordered_set<std::string> names;
  for (const Tensor& tensor : own) names.insert(tensor.name);
  for (int stage = 1; stage < stages.place.stages; ++stage) {
    for (Tensor& tensor : receive(stages, stage)) {
      if (names.insert(tensor.name).second) own.push_back(std::move(tensor));
    }
  }
  return own;
}

std::vector<Tensor> scatter_tensors(const StageWait& stages,
                                    std::vector<std::vector<Tensor>> of_stages) {
  if (!stages.place.is_first()) return receive(stages, 0);
  for (int stage = 1; stage < stages.place.stages; ++stage) {
    send(stages, std::move(of_stages[static_cast<std::size_t>(stage)]), stage);
  }
  return std::move(of_stages.front());
}

}  // namespace dllaunch

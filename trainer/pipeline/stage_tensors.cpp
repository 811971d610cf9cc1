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

void send(Peers& stages, std::span<const std::byte> bytes, int to) {
  const Pending sending = stages.open();
  stages.send(sending, bytes.data(), bytes.size(), to, /*round=*/0);
  stages.wait(sending);
}

std::vector<std::byte> receive(Peers& stages, std::size_t size, int from) {
  std::vector<std::byte> bytes(size);
  const Pending receiving = stages.open();
  stages.receive(receiving, bytes.data(), bytes.size(), from, /*round=*/0);
  stages.wait(receiving);
  return bytes;
}

}  // namespace

std::vector<Tensor> gather_tensors(Peers& stages, std::vector<Tensor> own) {
  std::vector<std::byte> mine;
  if (stages.rank() > 0) mine = packed(std::move(own));
  const std::int64_t size = std::ssize(mine);
  const auto sizes = stages.gather_all({&size, 1});
  if (stages.rank() > 0) {
    send(stages, mine, 0);
    return {};
  }
  std::unordered_set<std::string> names;
  for (const Tensor& tensor : own) names.insert(tensor.name);
  for (int stage = 1; stage < stages.size(); ++stage) {
    const auto bytes = static_cast<std::size_t>(sizes[static_cast<std::size_t>(stage)]);
    for (Tensor& tensor : unpacked(receive(stages, bytes, stage))) {
      if (names.insert(tensor.name).second) own.push_back(std::move(tensor));
    }
  }
  return own;
}

std::vector<Tensor> scatter_tensors(Peers& stages, std::vector<std::vector<Tensor>> of_stages) {
  const auto count = static_cast<std::size_t>(stages.size());
  std::vector<std::vector<std::byte>> messages(count);
  std::vector<std::int64_t> sizes(count, 0);
  for (std::size_t stage = 1; stage < of_stages.size(); ++stage) {
    messages[stage] = packed(std::move(of_stages[stage]));
    sizes[stage] = std::ssize(messages[stage]);
  }
  const auto all = stages.gather_all(sizes);  // rank 0's come first
  if (stages.rank() > 0) {
    const auto mine = static_cast<std::size_t>(all[static_cast<std::size_t>(stages.rank())]);
    return unpacked(receive(stages, mine, 0));
  }
  for (int stage = 1; stage < stages.size(); ++stage) {
    send(stages, std::exchange(messages[static_cast<std::size_t>(stage)], {}), stage);
  }
  return std::move(of_stages.front());
}

}  // namespace dllaunch

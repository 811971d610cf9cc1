#include "trainer/pipeline/stage_links.hpp"

#include <cassert>
#include <cstring>

namespace dllaunch {
namespace {

/// Precedes the labels, the targets and the output of a micro-batch.
struct BatchHead {
  std::int64_t count = 0;
  std::uint64_t random = 0;
};

template <typename T>
std::span<T> part_of(std::span<std::byte> message, std::size_t& at, std::size_t elements) {
  const std::span<T> part(reinterpret_cast<T*>(message.data() + at), elements);
  at += elements * sizeof(T);
  return part;
}

}  // namespace

StageLinks::StageLinks(const StageWait& stages, const SampleSizes& sizes)
    : wait_(stages), place_(stages.place), peers_(*stages.peers), sizes_(sizes) {
  if (!place_.is_first()) {
    batches_.from = place_.stage - 1;
    for (auto& buffer : batches_.buffers) buffer.resize(batch_bytes(sizes.input));
    outgoing_gradient_.resize(sizes.batch * sizes.input);
  }
  if (!place_.is_last()) {
    gradients_.from = place_.stage + 1;
    for (auto& buffer : gradients_.buffers) {
      buffer.resize(sizes.batch * sizes.output * sizeof(float));
    }
    outgoing_batch_.resize(batch_bytes(sizes.output));
  }
}

std::size_t StageLinks::batch_bytes(std::size_t elements) const {
  const std::size_t words = sizes_.labels + sizes_.targets + elements;  // 4 bytes each
  return sizeof(BatchHead) + sizes_.batch * words * sizeof(float);
}

void StageLinks::begin(int micro_batches, bool backward) {
  assert(batches_.to_come == 0 && gradients_.to_come == 0);
  if (!place_.is_first()) batches_.to_come = micro_batches;
  if (!place_.is_last() && backward) gradients_.to_come = micro_batches;
  expect_next(batches_);
  expect_next(gradients_);
}

void StageLinks::expect_next(Inlet& inlet) {
  if (inlet.to_come == 0) return;
  auto& buffer = inlet.buffers[inlet.received % 2];
  inlet.next = peers_.open();
  peers_.receive(*inlet.next, buffer.data(), buffer.size(), inlet.from, inlet.received);
}

void StageLinks::wait(Pending pending, int for_stage) {
  if (peers_.is_done(pending)) return;
  Activity* const activity = wait_.activity;
  if (activity == nullptr) return wait_(pending, for_stage);
  const RankPhase before = activity->phase();
  const int micro_batch = activity->micro_batch();
  activity->enter(RankPhase::pipeline, micro_batch);
  wait_(pending, for_stage);
  activity->enter(before, micro_batch);
}

std::span<std::byte> StageLinks::receive(Inlet& inlet) {
  assert(inlet.next);
  wait(*inlet.next, inlet.from);
  auto& message = inlet.buffers[inlet.received % 2];
  inlet.next.reset();
  ++inlet.received;
  --inlet.to_come;
  expect_next(inlet);
  return message;
}

void StageLinks::send(std::span<const std::byte> message, int to, std::uint64_t round) {
  const Pending sending = peers_.open();
  peers_.send(sending, message.data(), message.size(), to, round);
  wait(sending, to);
}

Batch StageLinks::receive_batch() {
  const auto words = receive(batches_);
  BatchHead head;
  std::memcpy(&head, words.data(), sizeof head);
  std::size_t at = sizeof head;
  const auto labels = part_of<std::int32_t>(words, at, sizes_.batch * sizes_.labels);
  const auto targets = part_of<float>(words, at, sizes_.batch * sizes_.targets);
  return {.images = part_of<float>(words, at, sizes_.batch * sizes_.input),
          .labels = labels,
          .count = static_cast<int>(head.count),
          .targets = targets,
          .random = head.random};
}

void StageLinks::send_batch(const Batch& batch, const Executable& from) {
  const std::span<std::byte> words(outgoing_batch_);
  const BatchHead head{.count = batch.count, .random = batch.random};
  std::memcpy(words.data(), &head, sizeof head);
  std::size_t at = sizeof head;
  const auto labels = part_of<std::int32_t>(words, at, sizes_.batch * sizes_.labels);
  std::copy_n(batch.labels.begin(), std::min(labels.size(), batch.labels.size()), labels.begin());
  const auto targets = part_of<float>(words, at, sizes_.batch * sizes_.targets);
  std::copy_n(batch.targets.begin(), std::min(targets.size(), batch.targets.size()),
              targets.begin());
  from.read_output(part_of<float>(words, at, sizes_.batch * sizes_.output));
  send(words, place_.stage + 1, sent_batches_++);
}

void StageLinks::receive_gradient(Executable& to) {
  const auto message = receive(gradients_);
  to.set_output_gradient(
      {reinterpret_cast<const float*>(message.data()), message.size() / sizeof(float)});
}

void StageLinks::send_gradient(const Executable& from) {
  from.read_input_gradient(outgoing_gradient_);
  send(std::as_bytes(std::span(outgoing_gradient_)), place_.stage - 1, sent_gradients_++);
}

}  // namespace dllaunch

// Messages between the stages of a pipeline: micro-batches forward, their gradients back.
// Decides nothing: trainer/training calls it in the order of the schedule.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/communicators/peers/peers.hpp"
#include "trainer/backends/backend.hpp"
#include "trainer/pipeline/schedule.hpp"
#include "trainer/pipeline/stage_wait.hpp"

namespace dllaunch {

/// What a micro-batch has for each of its samples, in elements.
struct SampleSizes {
  std::size_t batch = 1;   // most samples of a micro-batch
  std::size_t input = 0;   // of this stage
  std::size_t output = 0;  // likewise
  std::size_t labels = 1;
  std::size_t targets = 0;  // 0: labels suffice
};

/// A send ends before the call returns: a rank that computes moves no messages, so its neighbour
/// would wait for the rest of a large one. A receive starts as soon as its buffer is free.
/// Deadlock-free, since every rank's next receives have started before it sends.
class StageLinks {
 public:
  /// What `stages` points to outlives this.
  StageLinks(const StageWait& stages, const SampleSizes& sizes);

  /// Begins a step, or a validation if not `backward`. Every stage calls it with the same numbers,
  /// after all messages of the one before.
  void begin(int micro_batches, bool backward);

  /// On all stages but the first: the next micro-batch, valid until the next call. Its
  /// `images` are the output of the stage before.
  Batch receive_batch();
  /// On all stages but the last: sends the output of `from`, whose latest forward() was `batch`,
  /// with the labels.
  void send_batch(const Batch& batch, const Executable& from);
  /// On all stages but the last: sets the output's gradient of `to`.
  void receive_gradient(Executable& to);
  /// On all stages but the first: sends the input's gradient of `from`.
  void send_gradient(const Executable& from);

 private:
  /// Messages from a neighbour, received in turn into two buffers.
  struct Inlet {
    int from = 0;
    std::array<std::vector<std::byte>, 2> buffers = {};
    std::uint64_t received = 0;
    int to_come = 0;                   // of this step
    std::optional<Pending> next = {};  // into buffers[received % 2]
  };

  std::size_t batch_bytes(std::size_t elements) const;
  void expect_next(Inlet& inlet);
  std::span<std::byte> receive(Inlet& inlet);
  void send(std::span<const std::byte> message, int to, std::uint64_t round);
  void wait(Pending pending, int for_stage);

  StageWait wait_;
  StagePlace place_;
  Peers& peers_;
  SampleSizes sizes_;
  Inlet batches_;
  Inlet gradients_;
  std::vector<std::byte> outgoing_batch_;
  std::vector<float> outgoing_gradient_;
  std::uint64_t sent_batches_ = 0;
  std::uint64_t sent_gradients_ = 0;
};

}  // namespace dllaunch

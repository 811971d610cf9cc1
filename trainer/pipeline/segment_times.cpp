#include "trainer/pipeline/segment_times.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "runtime/communicators/aligned_memory.hpp"
#include "support/position.hpp"
#include "support/random.hpp"
#include "trainer/backends/device_arenas.hpp"
#include "trainer/graph/initial_weights.hpp"
#include "trainer/pipeline/segment_costs.hpp"

namespace dllaunch {
namespace {

constexpr std::uint64_t seed = 1;
constexpr int fewest_runs = 3;
constexpr int most_runs = 9;
constexpr double enough_seconds = 0.3;

using Clock = std::chrono::steady_clock;

/// -1 .. 1.
std::vector<float> random_values(std::size_t count, std::string_view purpose) {
  const std::uint64_t key = random_key(seed, purpose);
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(static_cast<double>(random_bits(key, i) >> 11) * 0x1p-52 - 1);
  }
  return values;
}

/// Rows of the embedding that reads the segment's input; 0: it is not of tokens.
int vocabulary_of(const Graph& segment) {
  for (const Node& node : segment.nodes) {
    const auto* embedding = std::get_if<Embedding>(&node.op);
    if (embedding != nullptr && node.inputs == std::vector<int>{0}) return embedding->vocabulary;
  }
  return 0;
}

/// A compiled segment with weights, and a micro-batch for it.
class SegmentRun {
 public:
  SegmentRun(const Graph& segment, std::unique_ptr<Executable> executable, int batch)
      : segment_(segment), executable_(std::move(executable)), batch_(at(batch)) {
    attach_weights();
    make_batch();
  }

  /// Forward and backward.
  double seconds() {
    const auto begin = Clock::now();
    executable_->forward(batch(), Phase::train);
    if (segment_.joints.output) {
      executable_->read_output(output_);
      executable_->set_output_gradient(gradient_);
    }
    executable_->backward(1.0 / static_cast<double>(batch_), /*accumulate=*/true, [](int) {});
    if (segment_.joints.input) executable_->read_input_gradient(input_gradient_);
    finish();
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

 private:
  std::size_t elements(const Shape& shape) const {
    return batch_ * static_cast<std::size_t>(elements_of(shape));
  }

  /// Zeros, where the parameters of a training would be.
  void* allocate(std::size_t bytes) {
    DeviceArenas* const device = executable_->device_arenas();
    if (device == nullptr) return memory_.allocate(bytes).data();
    return on_device_.emplace_back(device->allocate(bytes)).get();
  }

  /// Waits for a device, in whose order copies are.
  void finish() const {
    float element = 0;
    if (on_device_.empty()) return;
    executable_->device_arenas()->copy(&element, on_device_.front().get(), sizeof element);
  }

  void attach_weights() {
    const std::size_t each = executable_->dtype() == DType::f64 ? sizeof(double) : sizeof(float);
    std::vector<void*> weights;
    std::vector<void*> gradients;
    for (const ParameterSlot& slot : executable_->slots()) {
      weights.push_back(allocate(slot.elements * each));
      gradients.push_back(allocate(slot.elements * each));
    }
    const std::vector<void*> arenas = weights;
    executable_->attach(std::move(weights), std::move(gradients));
    for (int i = 0; i < std::ssize(executable_->slots()); ++i) {
      const Parameter& parameter = segment_.parameters[at(executable_->slots()[at(i)].parameter)];
      const std::vector<double> values = initial_weights(seed, parameter);
      if (executable_->dtype() == DType::f64) {
        executable_->from_plain(i, values.data(), arenas[at(i)]);
      } else {
        const std::vector<float> single(values.begin(), values.end());
        executable_->from_plain(i, single.data(), arenas[at(i)]);
      }
    }
  }

  void make_batch() {
    input_ = random_values(elements(segment_.input_shape()), "input");
    if (const int vocabulary = vocabulary_of(segment_); vocabulary > 0) {
      for (std::size_t i = 0; i < input_.size(); ++i) {
        input_[i] = static_cast<float>(random_below(random_bits(seed, i), at(vocabulary)));
      }
    }
    if (segment_.joints.input) input_gradient_.resize(input_.size());
    const std::size_t outputs = elements(segment_.nodes.back().shape);
    if (segment_.joints.output) {
      output_.resize(outputs);
      gradient_ = random_values(outputs, "gradient");
      return;
    }
    const auto classes = static_cast<std::uint64_t>(segment_.classes());
    labels_.resize(outputs / classes);
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      labels_[i] = static_cast<std::int32_t>(random_below(random_bits(seed, i), classes));
    }
    if (segment_.loss.name == "softmax_cross_entropy") return;
    targets_.resize(outputs);
    for (std::size_t i = 0; i < outputs; ++i) targets_[i] = static_cast<float>(i % 2);
  }

  Batch batch() const {
    return {.images = input_,
            .labels = labels_,
            .count = static_cast<int>(batch_),
            .targets = targets_,
            .random = seed};
  }

  const Graph& segment_;
  AlignedMemory memory_;
  std::vector<std::shared_ptr<std::byte>> on_device_;
  std::unique_ptr<Executable> executable_;
  std::size_t batch_;
  std::vector<float> input_;
  std::vector<float> input_gradient_;
  std::vector<float> output_;
  std::vector<float> gradient_;
  std::vector<std::int32_t> labels_;
  std::vector<float> targets_;
};

/// For each segment, the first of its shape; in `distinct`, each of those once.
std::vector<int> first_of_shape(std::span<const Graph> segments, std::vector<int>& distinct) {
  std::map<std::string, int> known;
  std::vector<int> firsts;
  for (int s = 0; s < std::ssize(segments); ++s) {
    const auto [place, is_new] = known.try_emplace(shape_of(segments[at(s)]), s);
    if (is_new) distinct.push_back(s);
    firsts.push_back(place->second);
  }
  return firsts;
}

/// Collective. The lowest rank with an error keeps it, the others get its kind.
std::optional<Error> first_error(std::optional<Error> mine, Communicator& world) {
  const double none = -1;
  const double kind = mine ? static_cast<double>(mine->kind) : none;
  const std::vector<double> kinds = gather(world, {&kind, 1});
  const auto first = std::ranges::find_if(kinds, [=](double one) { return one != none; });
  if (first == kinds.end()) return std::nullopt;
  if (first - kinds.begin() == world.rank()) return mine;
  return Error{static_cast<ErrorKind>(*first), "", ""};
}

}  // namespace

std::vector<double> gather(Communicator& world, std::span<const double> mine) {
  std::vector<double> all(at(world.size()) * mine.size());
  std::ranges::copy(mine, all.begin() + std::ssize(mine) * world.rank());
  world.wait(world.all_gather(all.data(), mine.size(), DType::f64));
  return all;
}

Result<double> time_segment(const Graph& segment, const CompileSegment& compile, int batch) {
  auto executable = compile(segment);
  if (!executable) return std::move(executable).error();
  SegmentRun run(segment, *std::move(executable), batch);
  run.seconds();  // the first also touches memory and finishes choices
  double least = run.seconds();
  double sum = least;
  for (int runs = 1; runs < fewest_runs || (sum < enough_seconds && runs < most_runs); ++runs) {
    const double seconds = run.seconds();
    least = std::min(least, seconds);
    sum += seconds;
  }
  return least;
}

Result<std::vector<double>> time_segments(std::span<const Graph> segments,
                                          const CompileSegment& compile, int batch,
                                          Communicator& world) {
  std::vector<int> distinct;
  const std::vector<int> firsts = first_of_shape(segments, distinct);
  std::vector<double> seconds(segments.size(), 0);
  std::optional<Error> problem;
  for (int i = 0; i < std::ssize(distinct) && !problem; ++i) {
    if (i % world.size() != world.rank()) continue;
    const int segment = distinct[at(i)];
    auto measured = time_segment(segments[at(segment)], compile, batch);
    if (measured) {
      seconds[at(segment)] = *measured;
    } else {
      problem = std::move(measured).error();
    }
  }
  if (auto error = first_error(std::move(problem), world)) return *std::move(error);
  const std::vector<double> all = gather(world, seconds);
  for (std::size_t s = 0; s < seconds.size(); ++s) {
    const auto place = std::ranges::find(distinct, firsts[s]) - distinct.begin();
    const auto by = static_cast<std::size_t>(place % world.size());
    seconds[s] = all[by * seconds.size() + at(firsts[s])];
  }
  return seconds;
}

}  // namespace dllaunch

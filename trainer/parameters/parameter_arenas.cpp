#include "trainer/parameters/parameter_arenas.hpp"

#include <malloc.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <new>

#include <fmt/core.h>

#include "trainer/graph/initial_weights.hpp"

namespace dllaunch {
namespace {

/// Splits an update into parts for the threads of a pool. Elements are independent, so the split
/// does not change the result.
class SharedUpdate {
 public:
  explicit SharedUpdate(std::size_t bytes_each) : bytes_each_(bytes_each) {}

  void add(const ParameterUpdate& piece) {
    for (std::size_t from = 0; from < piece.elements; from += largest) {
      ParameterUpdate part = piece;
      part.elements = std::min(largest, piece.elements - from);
      part.weights = behind(piece.weights, from);
      part.gradients = behind(piece.gradients, from);
      first_state_.push_back(states_.size());
      for (void* state : piece.states) states_.push_back(behind(state, from));
      parts_.push_back(part);
    }
  }
  int parts() const { return static_cast<int>(parts_.size()); }
  ParameterUpdate part(int index) const {
    const auto i = static_cast<std::size_t>(index);
    ParameterUpdate part = parts_[i];
    part.states = std::span(states_).subspan(first_state_[i], part.states.size());
    return part;
  }

 private:
  static constexpr std::size_t largest = std::size_t{1} << 16;  // elements

  void* behind(void* memory, std::size_t elements) const {
    return static_cast<std::byte*>(memory) + elements * bytes_each_;
  }

  std::size_t bytes_each_;
  std::vector<ParameterUpdate> parts_;
  std::vector<std::size_t> first_state_;  // offset of each part in states_
  std::vector<void*> states_;
};

constexpr std::align_val_t alignment{64};

std::vector<bool> one_dimensional(const Executable& executable) {
  std::vector<bool> flat;
  for (const auto& slot : executable.slots()) flat.push_back(slot.shape.size() <= 1);
  return flat;
}

ArenaLayout layout_of(const Executable& executable, std::size_t unit) {
  std::vector<std::size_t> elements;
  for (const auto& slot : executable.slots()) elements.push_back(slot.elements);
  return lay_out(executable.dtype(), elements, unit);
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

ParameterArenas::Memory ParameterArenas::allocate_on_host(std::size_t bytes) {
  auto* memory = static_cast<std::byte*>(::operator new[](bytes, alignment));
  std::memset(memory, 0, bytes);
  const auto free = [](std::byte* at) { ::operator delete[](at, alignment); };
  return {std::shared_ptr<std::byte>(memory, free), {memory, bytes}};
}

ParameterArenas::Memory ParameterArenas::allocate(std::size_t bytes) const {
  if (device_ == nullptr) return allocate_on_host(bytes);
  auto memory = device_->allocate(bytes);
  std::byte* const first = memory.get();
  return {std::move(memory), {first, bytes}};
}

/// Allocates memory for collectives.
ParameterArenas::Memory ParameterArenas::allocate_reduced(std::size_t bytes) const {
  if (device_ == nullptr) return {nullptr, communicator_.allocate(bytes)};
  if (communicator_.memory() == MemorySpace::host) return allocate(bytes);
  try {
    return {nullptr, communicator_.allocate(bytes)};
  } catch (const std::bad_alloc&) {
    device_->refuse(bytes);  // says what would fit
    throw;
  }
}

void ParameterArenas::copy(void* to, const void* from, std::size_t bytes) const {
  if (device_ != nullptr) return device_->copy(to, from, bytes);
  std::memcpy(to, from, bytes);
}

ParameterArenas::ParameterArenas(Executable& executable, Communicator& communicator,
                                 const OptimizerEntry& optimizer, const OptimizerOptions& options,
                                 const ArenaOptions& arenas)
    : executable_(executable),
      communicator_(communicator),
      optimizer_(optimizer),
      options_(options),
      layout_(layout_of(executable, arenas.shard ? unit_for(communicator.size()) : 1)),
      shard_(arenas.shard),
      trained_(executable.slots().size(), true) {
  DeviceArenas* const device = executable.device_arenas();
  // Even with one rank, every communicator but solo reads the buffer, so it must be able to reach
  // it.
  const bool reachable = communicator.name() == "solo" || communicator.memory() == MemorySpace::gpu;
  if (device != nullptr && arenas.on_device && reachable) {
    device_optimizer_ = device->optimizer(optimizer, options, layout_, one_dimensional(executable));
    if (device_optimizer_ != nullptr) device_ = device;
  }
  gradients_ = allocate_reduced(layout_.bytes());
  if (shard_) {
    weights_.push_back(allocate_reduced(layout_.bytes()));
    buckets_ = plan(static_cast<double>(layout_.bytes()));
  } else {
    weights_.push_back(allocate(layout_.bytes()));
  }
  for (const auto& name : optimizer.states(options)) {
    states_.push_back(allocate(own_elements() * bytes_of(layout_.type)));
    state_suffixes_.push_back("." + std::string(name));
  }
  std::vector<void*> weights;
  std::vector<void*> gradients;
  for (int slot = 0; slot < std::ssize(executable.slots()); ++slot) {
    weights.push_back(layout_.at(weights_[0].bytes, slot));
    gradients.push_back(layout_.at(gradients_.bytes, slot));
  }
  executable.attach(std::move(weights), std::move(gradients));
}

void ParameterArenas::initialise(const Graph& graph, std::uint64_t seed) {
  all_states_.clear();
  for (const Memory& state : states_) {
    if (device_ != nullptr) {
      device_->clear(state.bytes.data(), state.bytes.size());
    } else {
      std::memset(state.bytes.data(), 0, state.bytes.size());
    }
  }
  for (int i = 0; i < std::ssize(executable_.slots()); ++i) {
    const auto& slot = executable_.slots()[static_cast<std::size_t>(i)];
    const auto& parameter = graph.parameters[static_cast<std::size_t>(slot.parameter)];
    const std::vector<double> values = initial_weights(seed, parameter);
    std::vector<std::byte> plain(values.size() * bytes_of(layout_.type));
    narrow(values, layout_.type, plain.data());
    executable_.from_plain(i, plain.data(), layout_.at(weights_[0].bytes, i));
  }
  malloc_trim(0);  // return the space of the largest parameters to the system
}

void ParameterArenas::freeze(const Graph& graph) {
  for (std::size_t i = 0; i < trained_.size(); ++i) {
    const auto parameter = static_cast<std::size_t>(executable_.slots()[i].parameter);
    trained_[i] = !graph.parameters[parameter].frozen;
  }
}

std::vector<Bucket> ParameterArenas::plan(double bucket_bytes) const {
  // A small first bucket starts the reduction early; large ones use the network well.
  constexpr std::size_t first_bytes = std::size_t{1} << 20;
  const double whole = static_cast<double>(layout_.bytes());
  const auto bytes = static_cast<std::size_t>(std::min(bucket_bytes, whole));
  const std::size_t unit = shard_ ? unit_for(communicator_.size()) : 1;
  return buckets_for(layout_, plan_buckets(layout_, bytes, std::min(bytes, first_bytes), unit),
                     trained_, unit);
}

std::size_t ParameterArenas::own_elements() const {
  return shard_ ? layout_.total / static_cast<std::size_t>(communicator_.size()) : layout_.total;
}

std::size_t ParameterArenas::state_bytes() const {
  return states_.size() * own_elements() * bytes_of(layout_.type);
}

/// Returns this rank's parts; their states are stored one after the other.
std::vector<ParameterArenas::Own> ParameterArenas::own_parts() const {
  if (!shard_) return {{.range = {0, layout_.total}}};
  std::vector<Own> own;
  std::size_t offset = 0;
  for (const Bucket& bucket : buckets_) {
    const ArenaRange part = part_of(bucket, communicator_.rank(), communicator_.size());
    own.push_back({part, offset});
    offset += part.elements;
  }
  return own;
}

std::byte* ParameterArenas::state_at(std::size_t state, const Own& own) const {
  return states_[state].bytes.data() + own.state_offset * bytes_of(layout_.type);
}

void ParameterArenas::deal(std::vector<Bucket> buckets) {
  if (!shard_ || buckets == buckets_) return;
  gather_states();
  buckets_ = std::move(buckets);
  broadcast_states();
}

void ParameterArenas::gather_states() {
  if (!shard_) return;
  const std::size_t size = bytes_of(layout_.type);
  const bool root = communicator_.rank() == 0;
  all_states_.clear();
  const auto own = own_parts();
  for (std::size_t s = 0; s < states_.size(); ++s) {
    if (root) all_states_.push_back(allocate_on_host(layout_.bytes()));
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      const Memory bucket = allocate_on_host(buckets_[b].elements * size);
      const auto [offset, elements] = own[b].range;
      copy(bucket.bytes.data() + (offset - buckets_[b].offset) * size, state_at(s, own[b]),
           elements * size);
      communicator_.wait(communicator_.all_gather(bucket.bytes.data(), elements, layout_.type));
      if (root) {
        copy(all_states_[s].bytes.data() + buckets_[b].offset * size, bucket.bytes.data(),
             bucket.bytes.size());
      }
    }
  }
}

/// Sends each rank its parts of rank 0's all_states_; an empty one stands for zeros.
void ParameterArenas::broadcast_states() {
  const std::size_t size = bytes_of(layout_.type);
  const auto own = own_parts();
  for (std::size_t s = 0; s < states_.size(); ++s) {
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      const Memory bucket = allocate_on_host(buckets_[b].elements * size);
      if (!all_states_.empty()) {
        copy(bucket.bytes.data(), all_states_[s].bytes.data() + buckets_[b].offset * size,
             bucket.bytes.size());
      }
      communicator_.wait(communicator_.broadcast(bucket.bytes.data(), buckets_[b].elements,
                                                 layout_.type, /*root=*/0));
      const auto [offset, elements] = own[b].range;
      copy(state_at(s, own[b]), bucket.bytes.data() + (offset - buckets_[b].offset) * size,
           elements * size);
    }
  }
  all_states_.clear();
}

void ParameterArenas::broadcast() {
  const auto spread = [&](const Memory& arena) {
    communicator_.wait(
        communicator_.broadcast(arena.bytes.data(), layout_.total, layout_.type, /*root=*/0));
  };
  spread(weights_[0]);
  if (shard_) return broadcast_states();
  for (const auto& arena : states_) spread(arena);
}

template <typename Visit>
void ParameterArenas::visit_pieces(const Own& own, Visit visit) {
  const std::size_t size = bytes_of(layout_.type);
  const std::size_t end = own.range.offset + own.range.elements;
  std::vector<void*> states(states_.size());
  auto slot = static_cast<std::size_t>(std::ranges::upper_bound(layout_.offset, own.range.offset) -
                                       layout_.offset.begin());
  for (slot = slot == 0 ? 0 : slot - 1; slot < layout_.offset.size(); ++slot) {
    const std::size_t from = std::max(layout_.offset[slot], own.range.offset);
    const std::size_t to = std::min(layout_.offset[slot] + layout_.elements[slot], end);
    if (layout_.offset[slot] >= end) return;
    if (from >= to || !trained_[slot]) continue;
    for (std::size_t s = 0; s < states_.size(); ++s) {
      states[s] = state_at(s, own) + (from - own.range.offset) * size;
    }
    visit(slot, ParameterUpdate{.elements = to - from,
                                .weights = weights_[0].bytes.data() + from * size,
                                .gradients = gradients_.bytes.data() + from * size,
                                .states = states,
                                .one_dimensional = executable_.slots()[slot].shape.size() <= 1});
  }
}

/// Returns the trained pieces of this part, as long as possible: only frozen parameters split it.
std::vector<ParameterArenas::Own> ParameterArenas::trained_runs(const Own& own) const {
  std::vector<Own> runs;
  std::size_t from = own.range.offset;
  const std::size_t end = own.range.offset + own.range.elements;
  const auto close = [&](std::size_t to) {
    if (to <= from) return;
    runs.push_back({{from, to - from}, own.state_offset + (from - own.range.offset)});
  };
  for (std::size_t slot = 0; slot < layout_.offset.size(); ++slot) {
    const std::size_t behind = layout_.offset[slot] + layout_.elements[slot];
    if (trained_[slot] || behind <= from) continue;
    if (layout_.offset[slot] >= end) break;
    close(layout_.offset[slot]);
    from = std::min(behind, end);
  }
  close(end);
  return runs;
}

template <typename Visit>
void ParameterArenas::visit_runs(const Own& own, Visit visit) {
  const std::size_t size = bytes_of(layout_.type);
  for (const Own& run : trained_runs(own)) {
    std::vector<void*> states;
    for (std::size_t s = 0; s < states_.size(); ++s) states.push_back(state_at(s, run));
    const std::size_t from = run.range.offset * size;
    visit(ArenaPart{.first = run.range.offset,
                    .elements = run.range.elements,
                    .weights = weights_[0].bytes.data() + from,
                    .gradients = gradients_.bytes.data() + from,
                    .states = states});
  }
}

/// Computes every slot's sums of squares. Each rank adds its own pieces.
void ParameterArenas::measure(const StepInfo& now) {
  sums_.assign(layout_.offset.size(), {});
  for (const Own& own : own_parts()) {
    if (device_optimizer_ != nullptr) {
      visit_runs(own, [&](const ArenaPart& part) { device_optimizer_->measure(now, part, sums_); });
      continue;
    }
    visit_pieces(own, [&](std::size_t slot, const ParameterUpdate& piece) {
      const SquareSums sums = optimizer_.measure(layout_.type, options_, now, piece);
      sums_[slot].weights += sums.weights;
      sums_[slot].gradients += sums.gradients;
    });
  }
  if (!shard_) return;
  static_assert(sizeof(SquareSums) == 2 * sizeof(double), "reduced as an array of doubles");
  communicator_.wait(
      communicator_.all_reduce(sums_.data(), 2 * sums_.size(), DType::f64, ReduceOp::sum));
}

bool ParameterArenas::multiply_gradients(double by) {
  const auto factor = static_cast<float>(by);
  assert(layout_.type == DType::f32);
  bool finite = true;
  for (const Own& own : own_parts()) {
    visit_runs(own, [&](const ArenaPart& part) {
      if (device_optimizer_ != nullptr) {
        finite = device_optimizer_->multiply_gradients(part, factor) && finite;
        return;
      }
      const std::span gradients(static_cast<float*>(part.gradients), part.elements);
      for (float& gradient : gradients) {
        finite = finite && std::isfinite(gradient);
        gradient *= factor;
      }
    });
  }
  return finite;
}

void ParameterArenas::begin_update(const StepInfo& now) {
  assert(gathering_.empty());
  all_states_.clear();
  if (optimizer_.measure != nullptr) measure(now);
  const auto own = own_parts();
  for (std::size_t i = 0; i < own.size(); ++i) {
    update_own(now, own[i]);
    if (!shard_) continue;
    std::byte* weights = weights_[0].bytes.data() + buckets_[i].offset * bytes_of(layout_.type);
    gathering_.push_back(communicator_.all_gather(weights, own[i].range.elements, layout_.type));
  }
}

void ParameterArenas::update_own(const StepInfo& now, const Own& own) {
  if (device_optimizer_ != nullptr) {
    visit_runs(own, [&](const ArenaPart& part) { device_optimizer_->update(now, part, sums_); });
    return;
  }
  SharedUpdate shared(bytes_of(layout_.type));
  visit_pieces(own, [&](std::size_t slot, ParameterUpdate piece) {
    if (!sums_.empty()) {
      piece.weight_norm = std::sqrt(sums_[slot].weights);
      piece.gradient_norm = std::sqrt(sums_[slot].gradients);
    }
    shared.add(piece);
  });
  executable_.parallel_for(shared.parts(), [&](int part) {
    optimizer_.update(layout_.type, options_, now, shared.part(part));
  });
}

void ParameterArenas::wait_for_weights(bool on_gpu) {
  if (on_gpu && !gathering_.empty() && communicator_.follow(gathering_.back())) return;
  for (const Pending pending : gathering_) communicator_.wait(pending);
  gathering_.clear();
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
  const auto& arenas = shard_ ? all_states_ : states_;
  for (std::size_t s = 0; s < arenas.size(); ++s) {
    append_tensors(arenas[s], state_suffixes_[s], tensors);
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
      const auto found = std::ranges::find(tensors, name, &Tensor::name);
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
  if (!shard_) return load(states_, state_suffixes_, tensors);
  all_states_.clear();
  for (std::size_t s = 0; s < states_.size(); ++s) {
    all_states_.push_back(allocate_on_host(layout_.bytes()));
  }
  return load(all_states_, state_suffixes_, tensors);
}

}  // namespace dllaunch

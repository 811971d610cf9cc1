#include "trainer/parameters/parameter_arenas.hpp"

#include <malloc.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <new>

#include <fmt/core.h>

#include "trainer/graph/initial_weights.hpp"
#include "trainer/parameters/arena_visits.hpp"

namespace dllaunch {
namespace {

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
      undecayed_(options),
      shard_(arenas.shard),
      clip_norm_(arenas.clip_norm),
      average_decay_(arenas.average_decay),
      spares_vectors_(!arenas.decay_vectors && optimizer.measure == nullptr),
      sum_over_stages_(arenas.sum_over_stages),
      trained_(executable.slots().size(), true) {
  undecayed_.weight_decay = 0;
  const auto first = std::ranges::find_if(
      executable.slots(), [](const ParameterSlot& slot) { return slot.rows.has_value(); });
  first_split_ = static_cast<std::size_t>(first - executable.slots().begin());
  assert(!(shard_ && split()));
  for (const auto& slot : executable.slots()) {
    counted_elsewhere_.push_back(std::ranges::count(arenas.counted_elsewhere, slot.name) > 0);
  }
  DeviceArenas* const device = executable.device_arenas();
  // Even with one rank, every communicator but solo reads the buffer, so it must be able to reach
  // it.
  const bool reachable = communicator.name() == "solo" || communicator.memory() == MemorySpace::gpu;
  if (device != nullptr && arenas.on_device && reachable) {
    device_optimizer_ = device->optimizer(optimizer, options, layout_, one_dimensional(executable));
    if (device_optimizer_ != nullptr) device_ = device;
    if (device_ != nullptr && spares_vectors_) {
      undecayed_optimizer_ =
          device->optimizer(optimizer, undecayed_, layout_, one_dimensional(executable));
    }
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
  if (average_decay_) {
    states_.push_back(allocate(own_elements() * bytes_of(layout_.type)));
    state_suffixes_.emplace_back(".ema");
  }
  attach(executable);
}

void ParameterArenas::attach(Executable& another) {
  std::vector<void*> weights;
  std::vector<void*> gradients;
  for (int slot = 0; slot < std::ssize(another.slots()); ++slot) {
    weights.push_back(layout_.at(weights_[0].bytes, slot));
    gradients.push_back(layout_.at(gradients_.bytes, slot));
  }
  another.attach(std::move(weights), std::move(gradients));
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
    const auto elements = elements_of(slot.shape);
    const SlotRows rows = slot.rows.value_or(SlotRows{.count = 1});
    const std::int64_t row = slot.rows ? elements / slot.shape.front() : elements;
    const auto values = initial_weights(seed, parameter, rows.first * row, rows.count * row);
    std::vector<std::byte> plain(static_cast<std::size_t>(elements) * bytes_of(layout_.type));
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
  std::vector<bool> reduced = trained_;
  std::fill(reduced.begin() + static_cast<std::ptrdiff_t>(first_split_), reduced.end(), false);
  return buckets_for(layout_, plan_buckets(layout_, bytes, std::min(bytes, first_bytes), unit),
                     reduced, unit);
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
  const std::size_t elements = split() ? layout_.offset[first_split_] : layout_.total;
  const auto spread = [&](const Memory& arena) {
    communicator_.wait(
        communicator_.broadcast(arena.bytes.data(), elements, layout_.type, /*root=*/0));
  };
  spread(weights_[0]);
  if (shard_) return broadcast_states();
  for (const auto& arena : states_) spread(arena);
  if (split()) deal_rows();
}

/// Returns the trained pieces of this part, as long as possible: only frozen parameters split it,
/// and vectors if they are updated in another way.
std::vector<ParameterArenas::Own> ParameterArenas::trained_runs(const Own& own) const {
  std::vector<Own> runs;
  std::size_t from = own.range.offset;
  bool vector = false;
  const std::size_t end = own.range.offset + own.range.elements;
  const auto close = [&](std::size_t to) {
    if (to <= from) return;
    runs.push_back({{from, to - from}, own.state_offset + (from - own.range.offset), vector});
    from = to;
  };
  for (std::size_t slot = 0; slot < layout_.offset.size(); ++slot) {
    const std::size_t behind = layout_.offset[slot] + layout_.elements[slot];
    if (behind <= from) continue;
    if (layout_.offset[slot] >= end) break;
    const bool another = spares_vectors_ && is_vector(slot) != vector;
    if (another || !trained_[slot]) close(layout_.offset[slot]);
    if (spares_vectors_) vector = is_vector(slot);
    if (!trained_[slot]) from = std::min(behind, end);
  }
  close(end);
  return runs;
}

/// Computes every slot's sums of squares. Each rank adds its own pieces.
void ParameterArenas::measure(const StepInfo& now) {
  sums_.assign(layout_.offset.size(), {});
  for (const Own& own : own_parts()) {
    if (device_optimizer_ != nullptr) {
      visit_runs(own, [&](const ArenaPart& part, const Own&) {
        device_optimizer_->measure(now, part, sums_);
      });
      continue;
    }
    visit_pieces(own, [&](std::size_t slot, const ParameterUpdate& piece) {
      const SquareSums sums = optimizer_.measure(layout_.type, options_, now, piece);
      sums_[slot].weights += sums.weights;
      sums_[slot].gradients += sums.gradients;
    });
  }
  if (split()) sum_split_measures();
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
    visit_runs(own, [&](const ArenaPart& part, const Own&) {
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
  if (clip_norm_) clip_gradients(*clip_norm_);
  if (optimizer_.measure != nullptr) measure(now);
  const auto own = own_parts();
  for (std::size_t i = 0; i < own.size(); ++i) {
    update_own(now, own[i]);
    if (shard_) gather_weights(i, own[i]);
    if (average_decay_) average_own(own[i]);
  }
}

/// Has the other ranks receive this rank's part of a bucket's weights, and the reverse.
void ParameterArenas::gather_weights(std::size_t bucket, const Own& own) {
  std::byte* weights = weights_[0].bytes.data() + buckets_[bucket].offset * bytes_of(layout_.type);
  gathering_.push_back(communicator_.all_gather(weights, own.range.elements, layout_.type));
}

void ParameterArenas::update_own(const StepInfo& now, const Own& own) {
  if (device_optimizer_ != nullptr) {
    visit_runs(own, [&](const ArenaPart& part, const Own& run) {
      const bool spared = spares_vectors_ && run.vector;
      (spared ? undecayed_optimizer_ : device_optimizer_)->update(now, part, sums_);
    });
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
  executable_.parallel_for(shared.parts(), [&](int index) {
    const ParameterUpdate part = shared.part(index);
    const bool spared = spares_vectors_ && part.one_dimensional;
    optimizer_.update(layout_.type, spared ? undecayed_ : options_, now, part);
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
    // Sharded, no rank averages what is frozen: it is the weight.
    const bool whole = suffix != ".ema" || !frozen(i);
    executable_.to_plain(i, layout_.at((whole ? arena : weights_[0]).bytes, i), tensor.data.data());
    if (slot.rows) {
      const std::size_t row = tensor.data.size() / static_cast<std::size_t>(slot.shape.front());
      tensor.shape.front() = slot.rows->count;
      tensor.data.resize(row * static_cast<std::size_t>(slot.rows->count));
    }
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
      const Shape shape = whole_shape(slot);
      if (found->shape != shape || found->type != layout_.type) {
        return Error{
            ErrorKind::bad_request,
            fmt::format("{} is {} {}, this run needs {} {}", name, to_string(found->type),
                        to_string(found->shape), to_string(layout_.type), to_string(shape)),
            ""};
      }
      ++used;
      if (slot.rows) {
        loaded_[name] = *found;
        continue;
      }
      executable_.from_plain(i, found->data.data(), layout_.at(arenas[a].bytes, i));
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

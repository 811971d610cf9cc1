#include "trainer/split/split_executable.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/position.hpp"
#include "trainer/split/row_exchange.hpp"

namespace dllaunch {
namespace {

// Values between parts in either type.
void copy_output(const Executable& from, std::span<float> to) {
  from.read_output(to);
}
void copy_output(const Executable& from, std::span<double> to) {
  from.read_output_f64(to);
}
void give_gradient(Executable& to, std::span<const float> from) {
  to.set_output_gradient(from);
}
void give_gradient(Executable& to, std::span<const double> from) {
  to.set_output_gradient_f64(from);
}
void copy_input_gradient(const Executable& from, std::span<float> to) {
  from.read_input_gradient(to);
}
void copy_input_gradient(const Executable& from, std::span<double> to) {
  from.read_input_gradient_f64(to);
}
void set_input(Batch& batch, std::span<const float> values) {
  batch.images = values;
}
void set_input(Batch& batch, std::span<const double> values) {
  batch.doubles = values;
}

/// A part, compiled, and its values, plain.
template <typename Value>
struct Part {
  std::unique_ptr<Executable> executable = nullptr;
  std::optional<SlotRows> units = {};  // of a split layer: this rank's
  std::string last = {};               // node
  std::int64_t tokens = 1;             // rows of units of a sample
  std::size_t input = 0;               // elements of a sample
  std::size_t output = 0;              // likewise, of all ranks' units
  std::size_t width = 0;               // likewise, of the executable's units
  int buffers = 0;
  std::vector<int> slots = {};    // the network's number of each
  std::vector<Value> all_x = {};  // of a split layer: input of all ranks' samples
  std::vector<Value> y = {};      // [batch, output], of this rank's samples; not of the last part
};

template <typename Value>
Part<Value> part_of(const SplitPart& split, std::unique_ptr<Executable> executable) {
  const Graph& graph = split.graph;
  Part<Value> part{.executable = std::move(executable), .units = split.rows};
  part.last = graph.nodes.back().name;
  part.input = static_cast<std::size_t>(elements_of(graph.input_shape()));
  part.width = static_cast<std::size_t>(elements_of(graph.nodes.back().shape));
  part.output = part.width;
  part.buffers = static_cast<int>(graph.buffers.size());
  if (!split.is_split()) return part;
  part.tokens = graph.labels();
  part.output = static_cast<std::size_t>(part.tokens * split.rows->all);
  return part;
}

/// Value: double if the parts compute in it, else float.
template <typename Value>
class SplitExecutable final : public Executable {
  using Part = dllaunch::Part<Value>;

 public:
  SplitExecutable(const Graph& graph, std::vector<Part> parts, int first_trained, int batch,
                  const SplitRanks& ranks)
      : parts_(std::move(parts)),
        first_trained_(first_trained),
        exchange_(*ranks.communicator, ranks.activity) {
    number_slots(graph);
    reserve(static_cast<std::size_t>(batch),
            static_cast<std::size_t>(batch * ranks.communicator->size()));
  }

  const std::vector<ParameterSlot>& slots() const override { return slots_; }
  DType dtype() const override { return parts_.front().executable->dtype(); }

  void attach(std::vector<void*> weights, std::vector<void*> gradients) override {
    for (Part& part : parts_) {
      std::vector<void*> its_weights;
      std::vector<void*> its_gradients;
      for (const int slot : part.slots) {
        its_weights.push_back(weights[at(slot)]);
        its_gradients.push_back(gradients[at(slot)]);
      }
      part.executable->attach(std::move(its_weights), std::move(its_gradients));
    }
  }

  void to_plain(int slot, const void* arena, void* plain) const override {
    const Place& place = places_[at(slot)];
    parts_[place.part].executable->to_plain(place.index, arena, plain);
  }
  void from_plain(int slot, const void* plain, void* arena) const override {
    const Place& place = places_[at(slot)];
    parts_[place.part].executable->from_plain(place.index, plain, arena);
  }

  std::vector<double> buffer(int index) const override {
    const Place place = place_of_buffer(index);
    return parts_[place.part].executable->buffer(place.index);
  }
  void set_buffer(int index, std::span<const double> values) override {
    const Place place = place_of_buffer(index);
    parts_[place.part].executable->set_buffer(place.index, values);
  }

  ForwardResult forward(const Batch& batch, Phase phase) override {
    exchange_.begin(batch.count);
    ForwardResult result;
    bool finite = true;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      Part& part = parts_[i];
      const Batch own = own_batch(i, batch);
      if (part.units) exchange_.gather(input_of(own), part.input, part.all_x);
      result = part.executable->forward(part.units ? all_batch(part) : own, phase);
      finite = finite && std::isfinite(result.loss_sum);
      if (part.units) {
        copy_output(*part.executable, columns_);
        exchange_.join_units(columns_, part.units->all, part.tokens, part.y);
      } else if (i + 1 < parts_.size()) {
        copy_output(*part.executable, part.y);
      }
    }
    // A fused activation may have hidden it from the parts that follow.
    if (!finite) result.loss_sum = std::numeric_limits<double>::quiet_NaN();
    return result;
  }

  void backward(double scale, bool accumulate, const ReadyCallback& on_ready) override {
    for (int i = static_cast<int>(parts_.size()) - 1; i >= 0; --i) {
      Part& part = parts_[at(i)];
      if (i < first_trained_) {
        for (const int slot : part.slots) on_ready(slot);
        continue;
      }
      if (at(i) + 1 < parts_.size()) give_output_gradient(part);
      part.executable->backward(scale, accumulate, [&](int slot) {
        on_ready(slot == no_slot ? no_slot : part.slots[at(slot)]);
      });
      if (i > first_trained_) take_input_gradient(part);
    }
  }

  void hold_ready_until(std::span<const int> slots) override {
    for (Part& part : parts_) {
      std::vector<int> its;
      for (int i = 0; i < std::ssize(part.slots); ++i) {
        if (std::ranges::binary_search(slots, part.slots[at(i)])) its.push_back(i);
      }
      part.executable->hold_ready_until(its);
    }
  }

  /// A value that came from another part is the output of that one, maybe on another rank.
  std::string first_non_finite(const Batch& batch) override {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      Part& part = parts_[i];
      const auto node =
          part.executable->first_non_finite(part.units ? all_batch(part) : own_batch(i, batch));
      if (!node.empty()) return node == "input" && i > 0 ? parts_[i - 1].last : node;
    }
    return {};
  }

  std::vector<double> logits() const override { return parts_.back().executable->logits(); }

  void parallel_for(int count, const std::function<void(int)>& function) const override {
    parts_.front().executable->parallel_for(count, function);
  }

  std::string remark() const override { return parts_.front().executable->remark(); }

  std::vector<std::string> steps() const override {
    std::vector<std::string> all;
    for (const Part& part : parts_)
      std::ranges::copy(part.executable->steps(), std::back_inserter(all));
    return all;
  }
  std::vector<double> step_seconds() const override {
    std::vector<double> all;
    for (const Part& part : parts_)
      std::ranges::copy(part.executable->step_seconds(), std::back_inserter(all));
    return all;
  }

 private:
  /// Something of part `part`, with this index there.
  struct Place {
    std::size_t part = 0;
    int index = 0;
  };

  void number_slots(const Graph& graph) {
    for (const bool split : {false, true}) {
      for (std::size_t p = parts_.size(); p-- > 0;) {
        Part& part = parts_[p];
        if (part.units.has_value() != split) continue;
        for (ParameterSlot slot : part.executable->slots()) {
          const auto found = std::ranges::find(graph.parameters, slot.name, &Parameter::name);
          slot.parameter = static_cast<int>(found - graph.parameters.begin());
          slot.rows = part.units;
          places_.push_back({p, static_cast<int>(part.slots.size())});
          part.slots.push_back(static_cast<int>(slots_.size()));
          slots_.push_back(std::move(slot));
        }
      }
    }
  }

  void reserve(std::size_t batch, std::size_t all_samples) {
    std::size_t widest = 0;
    for (Part& part : parts_) {
      widest = std::max({widest, part.input, part.output});
      if (&part != &parts_.back()) part.y.resize(batch * part.output);
      if (!part.units) continue;
      part.all_x.resize(all_samples * part.input);
      columns_.resize(std::max(columns_.size(), all_samples * part.width));
      all_.resize(std::max(all_.size(), all_samples * std::max(part.input, part.output)));
    }
    gradient_.resize(batch * widest);
  }

  Place place_of_buffer(int index) const {
    std::size_t part = 0;
    while (index >= parts_[part].buffers) index -= parts_[part++].buffers;
    return {part, index};
  }

  /// What part i reads of this rank's samples.
  Batch own_batch(std::size_t i, const Batch& batch) const {
    if (i == 0) return batch;
    Batch own = batch;
    set_input(own, parts_[i - 1].y);
    own.bytes = nullptr;
    own.ahead = nullptr;
    return own;
  }
  Batch all_batch(const Part& part) const {
    Batch all{.images = {}, .labels = {}, .count = exchange_.total()};
    set_input(all, part.all_x);
    return all;
  }

  std::span<const Value> input_of(const Batch& own) {
    if constexpr (std::is_same_v<Value, float>) {
      return own.images;
    } else {
      if (!own.doubles.empty()) return own.doubles;
      images_.assign(own.images.begin(), own.images.end());
      return images_;
    }
  }

  /// gradient_ is that of this rank's samples; a split layer needs its units of all samples.
  void give_output_gradient(Part& part) {
    if (!part.units) return give_gradient(*part.executable, gradient_);
    exchange_.gather(gradient_, part.output, all_);
    const auto rows = static_cast<std::size_t>(exchange_.total() * part.tokens);
    const std::size_t most = part.width / static_cast<std::size_t>(part.tokens);
    std::ranges::fill(columns_, Value{0});
    for (std::size_t row = 0; row < rows; ++row) {
      const auto from = row * static_cast<std::size_t>(part.units->all);
      std::copy_n(all_.data() + from + part.units->first, part.units->count,
                  columns_.data() + row * most);
    }
    give_gradient(*part.executable, columns_);
  }

  /// The gradient of a split layer's input is the sum over all units.
  void take_input_gradient(Part& part) {
    if (!part.units) return copy_input_gradient(*part.executable, gradient_);
    copy_input_gradient(*part.executable, all_);
    exchange_.sum(all_, part.input, gradient_);
  }

  std::vector<Part> parts_;
  int first_trained_;
  RowExchange<Value> exchange_;
  std::vector<ParameterSlot> slots_;
  std::vector<Place> places_;    // of the slots
  std::vector<Value> columns_;   // of a split layer: this rank's units of all samples
  std::vector<Value> all_;       // of a split layer: gradients of all samples
  std::vector<Value> gradient_;  // of this rank's samples, between parts
  std::vector<Value> images_;    // a copy where they are no Value
};

template <typename Value>
std::unique_ptr<Executable> join_parts(const Graph& graph, std::span<const SplitPart> parts,
                                       std::vector<std::unique_ptr<Executable>> compiled, int batch,
                                       const SplitRanks& ranks) {
  std::vector<Part<Value>> joined;
  for (std::size_t i = 0; i < parts.size(); ++i)
    joined.push_back(part_of<Value>(parts[i], std::move(compiled[i])));
  return std::make_unique<SplitExecutable<Value>>(graph, std::move(joined), first_trained(parts),
                                                  batch, ranks);
}

}  // namespace

Result<std::unique_ptr<Executable>> compile_split(Backend& backend, const Graph& graph,
                                                  std::span<const SplitPart> parts,
                                                  const CompileOptions& options,
                                                  const SplitRanks& ranks) {
  // A rank's values between parts are the host's.
  if (backend.free_memory()) {
    return Error{ErrorKind::bad_request, "GPUs do not compute split dense layers yet",
                 "use resources.device: cpu, or no runtime.split_dense"};
  }
  std::vector<std::unique_ptr<Executable>> compiled;
  for (const SplitPart& part : parts) {
    CompileOptions its = options;
    if (part.is_split()) its.batch *= ranks.communicator->size();
    auto executable = backend.compile(part.graph, its);
    if (!executable) return std::move(executable).error();
    compiled.push_back(*std::move(executable));
  }
  const auto join =
      compiled.front()->dtype() == DType::f64 ? join_parts<double> : join_parts<float>;
  return join(graph, parts, std::move(compiled), options.batch, ranks);
}

}  // namespace dllaunch

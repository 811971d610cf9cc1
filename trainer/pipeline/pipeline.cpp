#include "trainer/pipeline/pipeline.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <set>
#include <utility>

#include "runtime/activity/observed_communicator.hpp"
#include "runtime/communicators/host/host_communicator.hpp"
#include "support/position.hpp"

namespace dllaunch {

namespace {

constexpr int bits_of_number = 20;  // of a shared parameter, in the round of its messages

/// Adds plain values of a type.
void add_values(DType type, std::span<std::byte> sum, std::span<const std::byte> values) {
  const auto add_as = [&]<typename Real>(Real) {
    auto* const to = reinterpret_cast<Real*>(sum.data());
    const auto* const from = reinterpret_cast<const Real*>(values.data());
    for (std::size_t i = 0; i < sum.size() / sizeof(Real); ++i) to[i] += from[i];
  };
  type == DType::f64 ? add_as(double{}) : add_as(float{});
}

}  // namespace

std::vector<SharedParameter> shared_with_others(std::span<const Graph> stages, int stage) {
  std::set<std::string> all;
  for (const Graph& each : stages) {
    for (const Parameter& parameter : each.parameters) all.insert(parameter.name);
  }
  std::vector<SharedParameter> shared;
  for (const Parameter& parameter : stages[at(stage)].parameters) {
    SharedParameter found{.name = parameter.name, .stages = {}};
    found.number = static_cast<std::uint64_t>(std::distance(all.begin(), all.find(found.name)));
    for (int other = 0; other < std::ssize(stages); ++other) {
      const auto& theirs = stages[at(other)].parameters;
      if (std::ranges::find(theirs, parameter.name, &Parameter::name) != theirs.end()) {
        found.stages.push_back(other);
      }
    }
    if (found.stages.size() > 1) shared.push_back(std::move(found));
  }
  std::ranges::sort(shared, {}, &SharedParameter::number);
  return shared;
}

Result<std::unique_ptr<Communicator>> open_host_replicas(std::unique_ptr<Peers> group,
                                                         std::string&) {
  return open_host_group(std::move(group));
}

Result<std::unique_ptr<Pipeline>> Pipeline::open(std::unique_ptr<Peers> world, int stages,
                                                 Activity* activity,
                                                 const OpenReplicas& open_replicas) {
  std::unique_ptr<Pipeline> pipeline(new Pipeline);
  pipeline->place_ = place_in_pipeline(world->rank(), world->size(), stages);
  pipeline->activity_ = activity;
  const StagePlace& place = pipeline->place_;
  pipeline->stages_ = world->split(place.replica, place.stage);
  auto replicas = open_replicas(world->split(place.stage, place.replica), pipeline->no_nccl_);
  if (!replicas) return std::move(replicas).error();
  pipeline->replicas_ = *std::move(replicas);
  if (activity != nullptr) {
    pipeline->replicas_ = std::make_unique<ObservedCommunicator>(std::move(pipeline->replicas_),
                                                                 *activity, CollectiveScope::group);
  }
  return pipeline;
}

void Pipeline::connect(std::vector<Graph> graphs, SampleSizes sizes) {
  graphs_ = std::move(graphs);
  shared_ = shared_with_others(graphs_, place_.stage);
  sizes.input = static_cast<std::size_t>(elements_of(graph().input_shape()));
  sizes.output = static_cast<std::size_t>(elements_of(graph().nodes.back().shape));
  links_ = std::make_unique<StageLinks>(stages(), sizes);
}

void Pipeline::copy_buffers(const Executable& from, Executable& to) const {
  for (int i = 0; i < std::ssize(graph().buffers); ++i) to.set_buffer(i, from.buffer(i));
}

Executable& Pipeline::executable_for(const Pass& pass, Executable& first) {
  const std::size_t i = at(pass.micro_batch) % (others_.size() + 1);
  in_flight_ += pass.forward ? 1 : -1;
  assert(in_flight_ <= std::ssize(others_) + 1);
  Executable& next = i == 0 ? first : *others_[i - 1];
  if (!pass.forward) return next;
  if (newest_ != nullptr && newest_ != &next) copy_buffers(*newest_, next);
  newest_ = &next;
  return next;
}

void Pipeline::end_step(Executable& first) {
  if (newest_ != nullptr && newest_ != &first) copy_buffers(*newest_, first);
  newest_ = &first;
}

void Pipeline::sum_shared_gradients(const Executable& first, const ArenaLayout& layout,
                                    std::span<std::byte> gradients) {
  for (const SharedParameter& shared : shared_) {
    const std::uint64_t round = sums_ << bits_of_number | shared.number;
    const auto& slots = first.slots();
    const auto found = std::ranges::find(slots, shared.name, &ParameterSlot::name);
    assert(found != slots.end());
    const auto slot = static_cast<int>(found - slots.begin());
    const auto elements = static_cast<std::size_t>(elements_of(found->shape));
    std::vector<std::vector<std::byte>> of_stages(
        shared.stages.size(), std::vector<std::byte>(elements * bytes_of(first.dtype())));
    const auto own = static_cast<std::size_t>(std::ranges::find(shared.stages, place_.stage) -
                                              shared.stages.begin());
    first.to_plain(slot, layout.at(gradients, slot), of_stages[own].data());
    std::vector<Pending> exchanges(shared.stages.size());
    for (std::size_t i = 0; i < of_stages.size(); ++i) {
      if (i == own) continue;
      exchanges[i] = stages_->open();
      stages_->receive(exchanges[i], of_stages[i].data(), of_stages[i].size(), shared.stages[i],
                       round);
      stages_->send(exchanges[i], of_stages[own].data(), of_stages[own].size(), shared.stages[i],
                    round);
    }
    for (std::size_t i = 0; i < of_stages.size(); ++i) {
      if (i != own) stages()(exchanges[i], shared.stages[i]);
    }
    std::vector<std::byte> sum = of_stages.front();  // in the order of stages: the same bits
    for (std::size_t i = 1; i < of_stages.size(); ++i) add_values(first.dtype(), sum, of_stages[i]);
    first.from_plain(slot, sum.data(), layout.at(gradients, slot));
  }
  ++sums_;
}

std::vector<std::string> Pipeline::counted_before() const {
  std::vector<std::string> names;
  for (const SharedParameter& shared : shared_) {
    if (shared.stages.front() < place_.stage) names.push_back(shared.name);
  }
  return names;
}

}  // namespace dllaunch

#include "trainer/session/model_tensors.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "trainer/parameters/buffers.hpp"
#include "trainer/pipeline/stage_tensors.hpp"

namespace dllaunch {
namespace {

std::vector<Tensor> of_all_stages(const Session& session, std::vector<Tensor> own) {
  if (session.pipeline == nullptr) return own;
  return gather_tensors(session.pipeline->stages(), std::move(own));
}

bool has_parameter(const Graph& stage, std::string_view name) {
  return std::ranges::find(stage.parameters, name, &Parameter::name) != stage.parameters.end();
}

bool has_buffer(const Graph& stage, std::string_view name) {
  return std::ranges::find(stage.buffers, name, &Buffer::name) != stage.buffers.end();
}

Result<Ok> none_left(const std::vector<Tensor>& left) {
  if (left.empty()) return Ok{};
  return Error{ErrorKind::bad_request,
               fmt::format("has a tensor {} that the model has not", shown_name(left[0].name)), ""};
}

}  // namespace

std::vector<Tensor> model_tensors(const Session& session) {
  if (session.replica() > 0 && !session.arenas->split()) return {};
  std::vector<Tensor> own = session.arenas->join(session.arenas->weights());
  if (session.replica() > 0) return {};
  std::ranges::move(buffer_tensors(session.graph, *session.executable), std::back_inserter(own));
  return of_all_stages(session, std::move(own));
}

GatheredTensors checkpoint_tensors(const Session& session) {
  if (session.replica() > 0 && !session.arenas->split()) return {};
  GatheredTensors all{.model = model_tensors(session), .states = {}};
  all.states = session.arenas->join(session.arenas->states());
  if (session.replica() == 0) all.states = of_all_stages(session, std::move(all.states));
  return all;
}

Result<Ok> deal_to_stages(const Session& session, std::vector<Tensor>& weights,
                          std::vector<Tensor>& states) {
  if (session.pipeline == nullptr) return Ok{};
  const StageWait stages = session.pipeline->stages();
  const auto& graphs = session.pipeline->graphs();
  const auto deal = [&](std::vector<Tensor>& all, const auto& belongs) {
    auto dealt = deal_tensors(all, stages.place.stages, [&](int stage, const std::string& name) {
      return belongs(graphs[static_cast<std::size_t>(stage)], name);
    });
    auto fits = none_left(all);
    all = scatter_tensors(stages, std::move(dealt));
    return fits;
  };
  auto fits = deal(weights, [](const Graph& stage, std::string_view name) {
    return has_parameter(stage, name) || has_buffer(stage, name);
  });
  auto states_fit = deal(states, [](const Graph& stage, std::string_view name) {
    return has_parameter(stage, name.substr(0, name.rfind('.')));
  });
  return fits ? states_fit : fits;
}

}  // namespace dllaunch

#include "trainer/training/build_model.hpp"

#include <utility>

#include "support/json.hpp"
#include "trainer/config/loss_choice.hpp"
#include "trainer/data/image_preparation.hpp"
#include "trainer/graph/frozen_parameters.hpp"
#include "trainer/graph/layer_list.hpp"
#include "trainer/graph/zero_gamma.hpp"
#include "trainer/models/models.hpp"
#include "trainer/session/sync_batch_norm.hpp"

namespace dllaunch {

DataShape data_shape(const Dataset& dataset, const TrainConfig& config) {
  return {.image = prepared_shape(dataset.image_shape(), config.data.image_size),
          .classes = dataset.classes(),
          .targets = dataset.targets()};
}

Result<Graph> build_model(const TrainConfig& config, const DataShape& data) {
  const ModelEntry* model = find_model(config.model);
  if (model == nullptr && config.layers.empty()) {
    return Error{ErrorKind::bad_request, "no model " + config.model, ""};
  }
  auto loss = choose_loss(config, model == nullptr ? "" : model->loss, data.targets);
  if (!loss) return std::move(loss).error();
  auto graph = model != nullptr
                   ? model->build(data.image, data.classes)
                   : build_layer_list(Json::parse(config.layers), data.image, data.classes);
  if (!graph) return graph;
  graph->loss = *std::move(loss);
  Result<Ok> changed = config.sync_batch_norm ? check_batch_norm(*graph) : Ok{};
  if (changed && config.zero_gamma) changed = zero_last_gammas(*graph);
  if (changed) changed = freeze_parameters(*graph, config.fine_tuning.freeze);
  return changed ? std::move(graph) : std::move(changed).error();
}

}  // namespace dllaunch

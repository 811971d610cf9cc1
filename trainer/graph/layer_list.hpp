// A network defined in the job file: `model: {layers: [...]}`.
#pragma once

#include <string>
#include <vector>

#include "support/json.hpp"
#include "support/result.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// Graph::model of a listed network.
constexpr const char* listed_model = "layers";

/// Returns the JSON Schema of a layer list, which `model:` accepts in place of a name.
Json layer_list_schema();

/// Returns all problems that do not depend on the images, each with its place: "model.layers[2]:
/// ...".
std::vector<std::string> check_layer_list(const Json& model);

/// Builds the graph of a list without check_layer_list() problems. bad_request: a layer does not
/// accept the shape of its input, or the last one does not have `outputs` outputs.
Result<Graph> build_layer_list(const Json& model, const ImageShape& image, int outputs);

}  // namespace dllaunch

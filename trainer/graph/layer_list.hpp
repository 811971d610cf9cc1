// A network as the user lists it: `model: {layers: [...]}`.
#pragma once

#include <string>
#include <vector>

#include "support/json.hpp"
#include "support/result.hpp"
#include "trainer/graph/graph.hpp"

namespace dllaunch {

/// The name that a listed network has where models have theirs.
constexpr const char* listed_model = "layers";

/// What may stand under `model:` beside a name, as a JSON Schema.
Json layer_list_schema();

/// Everything that is wrong whatever the images are, each with its place: "model.layers[2]: ...".
std::vector<std::string> check_layer_list(const Json& model);

/// Of a list that check_layer_list() finds nothing in. bad_request: a layer that does not fit what
/// it reads, or a last one that does not give `outputs` numbers; by its name.
Result<Graph> build_layer_list(const Json& model, const ImageShape& image, int outputs);

}  // namespace dllaunch

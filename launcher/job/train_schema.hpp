// What `train:` may hold, by the trainer that was built with this launcher.
#pragma once

#include <span>
#include <string_view>

#include "support/json.hpp"

namespace dllaunch {

/// templates/train.schema.json: what `dltrain --describe` prints, with every backend that there is
/// and without the versions of their libraries. A test of the trainer keeps it up to date. So
/// building the launcher does not build the trainer.
std::string_view train_schema_text();

struct BuiltBackend {
  std::string_view name;     // as train.backend has it
  std::string_view version;  // "oneDNN 2.6.3"
  bool gpu_memory = false;   // it can attach memory that a communicator of this build reduces
};

/// The backends of this build, fastest first. CMake writes the table.
std::span<const BuiltBackend> built_backends();

/// The JSON Schema that the built trainer's `dltrain --describe` prints.
const Json& train_schema();

/// `text` with the backends in `built` only.
Json train_schema_of(std::string_view text, std::span<const BuiltBackend> built);

}  // namespace dllaunch

// The schema of the job file, used by the parser, `dllaunch schema` and docs/reference/job-file.md.
#pragma once

#include <string>

#include "support/json.hpp"

namespace dllaunch {

/// The JSON Schema 2020-12 of a job file; `train` is train_schema(), with empty blocks allowed.
const Json& job_schema();

/// The reference of all keys in Markdown; docs/reference/job-file.md is exactly this.
std::string render_schema_markdown();

}  // namespace dllaunch

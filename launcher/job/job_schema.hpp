// The one table of job file keys: it feeds the parser, `dllaunch schema` and docs/job-file.md.
#pragma once

#include <string>

#include "support/json.hpp"

namespace dllaunch {

/// JSON Schema 2020-12 of a whole job file; `train` is train_schema(), where an empty block is
/// allowed.
const Json& job_schema();

/// The reference of all keys in Markdown: docs/job-file.md is this, word for word.
std::string render_schema_markdown();

}  // namespace dllaunch

// Prints the schema of job files, for editors and for people.
#include <memory>

#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/job/job_schema.hpp"
#include "launcher/os/stored_json.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view schema_examples =
    R"(  dllaunch schema > job.schema.json     JSON Schema 2020-12, for an editor's YAML support
  dllaunch schema --markdown            the same as Markdown: docs/reference/job-file.md
)";

CommandBody declare_schema(CommandOptions& app) {
  auto markdown = std::make_shared<bool>(false);
  app.add_flag("--markdown", *markdown, "a page for people");
  return [markdown](System& system) -> Result<int> {
    system.print(*markdown ? render_schema_markdown() : json_text(job_schema()));
    return exit_code::success;
  };
}

}  // namespace

extern const Command schema_command;
const Command schema_command{"schema", "every key of a job file, as a JSON Schema", schema_examples,
                             declare_schema, /*pages=*/true};

}  // namespace dllaunch

// Explains an id that dllaunch printed: what it means, why it happens, what to do.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "launcher/base/nearest_name.hpp"
#include "launcher/base/wrapped_lines.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_help.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/commands/guide/explained_ids.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view explain_examples =
    R"(  dllaunch explain 3             an exit code
  dllaunch explain mask-overlap  what `dllaunch lint` printed in brackets
  dllaunch explain A01           a finding of `dllaunch doctor`
  dllaunch explain Priority      Slurm's reason why a job waits
  dllaunch explain Invalid qos specification
                                 why sbatch refuses a job
  dllaunch explain               all ids
)";

std::string render(const ExplainedId& one) {
  constexpr std::size_t width = 76;
  std::string text = fmt::format("{} ({})\n", one.id, one.kind);
  for (const std::string& part : {one.meaning, one.cause, one.remedy}) {
    if (part.empty()) continue;
    text += fmt::format("\n  {}\n", fmt::join(wrapped_lines(part, width), "\n  "));
  }
  return text;
}

/// One row for each id; an id of several kinds has all their meanings.
std::string render_all() {
  std::vector<HelpRow> rows;
  for (const ExplainedId& one : explained_ids()) {
    const auto known = std::ranges::find(rows, one.id, &HelpRow::name);
    if (known == rows.end())
      rows.push_back({one.id, one.meaning});
    else
      known->what += " Or: " + one.meaning;
  }
  return render_rows(rows);
}

Result<int> explain(System& system, const std::string& id) {
  if (id.empty()) {
    system.print(render_all());
    return exit_code::success;
  }
  const auto found = explain_id(id);
  if (found.empty()) {
    std::vector<std::string> known;
    for (const ExplainedId& one : explained_ids()) known.push_back(one.id);
    const auto near = nearest_name(id, known);
    return Error{
        ErrorKind::bad_request,
        fmt::format("no id '{}'{}", id, near ? fmt::format("; did you mean '{}'?", *near) : ""),
        "`dllaunch explain` lists all ids"};
  }
  std::string text;
  for (const ExplainedId& one : found) text += (text.empty() ? "" : "\n") + render(one);
  system.print(text);
  return exit_code::success;
}

CommandBody declare_explain(CommandOptions& app) {
  auto words = std::make_shared<std::vector<std::string>>();
  app.add_option("ID", *words, "an exit code, an id in brackets, or what Slurm says [all]");
  return [words](System& system) {
    return explain(system, fmt::format("{}", fmt::join(*words, " ")));
  };
}

}  // namespace

extern const Command explain_command;
const Command explain_command{"explain", "explain an exit code or another id", explain_examples,
                              declare_explain,
                              /*pages=*/true};

}  // namespace dllaunch

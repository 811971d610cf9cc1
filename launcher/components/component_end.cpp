#include "launcher/components/component_end.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "launcher/run/failure.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/run/stored_run.hpp"
#include "support/json_fields.hpp"

namespace dllaunch {
namespace {

/// As it is written in the component's directory; nullopt: nothing is.
std::optional<ComponentsEnd> written_end(System& system, const std::string& dir,
                                         const std::string& job) {
  const RunDir run{.path = dir};
  if (!job.empty()) {
    const auto last = read_journal(run).last;
    if (!last || last->job != job) return std::nullopt;
    return ComponentsEnd{last->next, last->status, last->exit_code, last->reason};
  }
  const auto stored = read_stored_run(system, dir);
  if (!stored || stored->summary.is_null()) return std::nullopt;
  ComponentsEnd end{.reason = value_at<std::string>(stored->summary, "reason")};
  const auto known = std::ranges::find(run_status_names, stored_status(*stored));
  end.status = known == std::end(run_status_names)
                   ? RunStatus::failed
                   : static_cast<RunStatus>(known - std::begin(run_status_names));
  const auto error = value_at<std::string>(stored->summary, "first_error");
  if (!error.empty()) end.reason += fmt::format(" ({})", error);
  return end;
}

}  // namespace

ComponentsEnd end_of_components(System& system, const RunOutline& whole,
                                const std::vector<std::optional<int>>& codes,
                                std::optional<std::size_t> decided,
                                const std::vector<std::string>& jobs) {
  const auto failed =
      std::ranges::find_if(codes, [](const auto& code) { return code.value_or(0) != 0; });
  if (!decided && failed == codes.end()) return {};
  const auto which = decided.value_or(static_cast<std::size_t>(failed - codes.begin()));
  const auto& name = whole.components[which].name;
  const int code = codes[which].value_or(0);
  if (code == 0) return {.reason = fmt::format("component {} has completed", name)};
  const auto written = written_end(system, component_dir(whole.paths.run_dir, name),
                                   which < jobs.size() ? jobs[which] : "");
  // A script that ended before its supervisor began has written nothing.
  auto end = written && written->status != RunStatus::completed
                 ? *written
                 : ComponentsEnd{.status = RunStatus::failed,
                                 .reason = fmt::format("its script exited with code {}", code)};
  end.exit_code = exit_code_of_job(code);
  end.reason = fmt::format("component {}: {}", name, end.reason);
  return end;
}

}  // namespace dllaunch

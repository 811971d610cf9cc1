#include "launcher/components/component_end.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "launcher/base/exit_code.hpp"
#include "launcher/base/shown_line.hpp"
#include "launcher/base/split.hpp"
#include "launcher/run/failure.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/run/rank_logs.hpp"
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
    return ComponentsEnd{.next = last->next,
                         .status = last->status,
                         .exit_code = last->exit_code,
                         .exclude = last->exclude,
                         .reason = last->reason};
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

/// A script that ended before its supervisor began has written nothing but output.
std::string end_of_script(const std::string& output, int code) {
  constexpr std::size_t most_bytes = 4096;
  std::string last;
  const auto text = file_end(output, most_bytes);
  for (const auto line : split_lines(text))
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) last = shown_line(line);
  const auto reason = fmt::format("its script exited with code {}; see {}", code, output);
  return last.empty() ? reason : fmt::format("{}: {}", reason, last);
}

/// "component loader failed: rank 0 exited with code 7" of others than the one that completed the
/// job; those that were told to stop have not failed.
std::string failures_beside(System& system, const RunOutline& whole, std::size_t completed,
                            const std::vector<std::string>& jobs) {
  std::string all;
  for (std::size_t i = 0; i < whole.components.size(); ++i) {
    const auto& name = whole.components[i].name;
    const auto end = written_end(system, component_dir(whole.paths.run_dir, name),
                                 i < jobs.size() ? jobs[i] : "");
    if (i == completed || !end) continue;
    if (end->status != RunStatus::failed && end->status != RunStatus::out_of_memory) continue;
    all += fmt::format("{}component {} failed: {}", all.empty() ? "" : "; ", name, end->reason);
  }
  return all;
}

/// The first component's script writes into that of the job.
std::string output_of(const RunOutline& whole, std::size_t component, const std::string& job) {
  const auto& run = whole.paths.run_dir;
  const auto dir = component == 0 ? run : component_dir(run, whole.components[component].name);
  return fmt::format("{}/slurm-{}.out", dir, job);
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
  if (code == 0)
    return {.reason = fmt::format("component {} has completed", name),
            .beside = failures_beside(system, whole, which, jobs)};
  const auto written = written_end(system, component_dir(whole.paths.run_dir, name),
                                   which < jobs.size() ? jobs[which] : "");
  ComponentsEnd end{.status = RunStatus::failed};
  if (written && written->status != RunStatus::completed)
    end = *written;
  else if (which < jobs.size())
    end.reason = end_of_script(output_of(whole, which, jobs[which]), code);
  else
    end.reason = fmt::format("it exited with code {}", code);
  end.ask_slurm = code == exit_code::requeue_whole;
  end.exit_code = exit_code_of_job(code);
  end.reason = fmt::format("component {}: {}", name, end.reason);
  return end;
}

}  // namespace dllaunch

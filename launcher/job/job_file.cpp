#include "launcher/job/job_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "launcher/base/utf8.hpp"
#include "launcher/config/key_names.hpp"
#include "launcher/config/schema_walk.hpp"
#include "launcher/config/yaml_tree.hpp"
#include "launcher/job/job_checks.hpp"
#include "launcher/job/job_from_json.hpp"
#include "launcher/job/job_overrides.hpp"
#include "launcher/job/job_schema.hpp"
#include "launcher/job/settle_counts.hpp"
#include "launcher/job/short_forms.hpp"

namespace dllaunch {
namespace {

// A list of 100,000 invalid items is one mistake.
constexpr std::size_t most_problems = 50;

/// A text that marks point into: the file, or a --set.
struct Source {
  std::string name;
  std::vector<std::string_view> lines;
};

std::vector<Diagnostic> placed(std::vector<YamlProblem> problems,
                               const std::vector<Source>& sources) {
  std::vector<Diagnostic> diagnostics;
  for (YamlProblem& problem : problems) {
    const Source& source = sources[static_cast<std::size_t>(problem.mark.source)];
    const std::string_view line = source.lines[static_cast<std::size_t>(problem.mark.line) - 1];
    diagnostics.push_back({.file = source.name,
                           .line = problem.mark.line,
                           .column = problem.mark.column,
                           .message = std::move(problem.message),
                           .source = std::string(line)});
  }
  return diagnostics;
}

ParsedJob failed(std::vector<YamlProblem> problems, const std::vector<Source>& sources) {
  std::ranges::stable_sort(problems, [](const auto& a, const auto& b) {
    return std::tie(a.mark.source, a.mark.line, a.mark.column) <
           std::tie(b.mark.source, b.mark.line, b.mark.column);
  });
  if (problems.size() > most_problems) {
    const std::size_t more = problems.size() - most_problems;
    problems.resize(most_problems);
    problems.back().message += fmt::format(" (and {} more errors)", more);
  }
  ParsedJob parsed;
  parsed.problems = placed(std::move(problems), sources);
  return parsed;
}

/// The value of a key in a mapping; null if there is none.
const YamlNode* entry_of(const YamlNode& node, std::string_view key) {
  const auto found = std::ranges::find(node.entries, key, &YamlEntry::key);
  return found == node.entries.end() ? nullptr : found->value.get();
}

void append(std::vector<YamlProblem>& all, std::vector<YamlProblem> more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

}  // namespace

ParsedJob parse_job(std::string_view text, const std::string& file,
                    std::span<const std::string> sets) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  std::vector<Source> sources{{file, lines_of(text)}};
  for (const std::string& set : sets) sources.push_back({"--set", lines_of(set)});

  auto document = parse_yaml(text, 0);
  if (document.problem) return failed({*std::move(document.problem)}, sources);
  YamlNode& root = *document.root;
  if (root.kind == YamlKind::null) {
    return failed({{{}, "the file is empty; a job needs 'name:' and 'train:' or 'run:'"}}, sources);
  }
  std::vector<YamlProblem> problems;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    // A path may lead through a block that the file has in its short form.
    expand_short_forms(job_schema(), root);
    if (auto problem = apply_override(root, sets[i], static_cast<int>(i) + 1)) {
      problems.push_back(*std::move(problem));
    }
  }
  auto unknown = correct_keys(job_schema(), root);
  const bool any_unknown = !unknown.empty();
  append(problems, std::move(unknown));
  append(problems, expand_short_forms(job_schema(), root));
  auto settled = settle_counts(root);
  append(problems, std::move(settled.problems));
  SchemaWalk walk;
  auto resolved = walk.complete(job_schema(), root);
  append(problems, std::move(walk).problems());
  if (root.kind == YamlKind::mapping) append(problems, check_together(root));
  if (!problems.empty()) {
    auto all = failed(std::move(problems), sources);
    all.unknown_keys = any_unknown;
    return all;
  }
  auto job = job_from_json(std::move(resolved));
  job.recovery.written = entry_of(root, "recovery") != nullptr;
  const auto* runtime = entry_of(root, "runtime");
  job.stall_abort_written =
      runtime != nullptr && entry_of(*runtime, "stall_abort_seconds") != nullptr;
  ParsedJob parsed;
  parsed.job = std::move(job);
  parsed.notes = placed(std::move(settled.notes), sources);
  return parsed;
}

}  // namespace dllaunch

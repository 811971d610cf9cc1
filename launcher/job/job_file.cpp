#include "launcher/job/job_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include "launcher/base/utf8.hpp"
#include "launcher/config/key_names.hpp"
#include "launcher/config/schema_walk.hpp"
#include "launcher/config/yaml_tree.hpp"
#include "launcher/job/components.hpp"
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

/// One job out of a tree; nullopt if there is a problem.
struct ReadJob {
  std::optional<Job> job = {};
  std::vector<YamlProblem> problems = {};
  std::vector<YamlProblem> notes = {};
  bool unknown_keys = false;
};

/// Whether the job file has the block, which says that a command can be restarted and signalled. An
/// autopsy alone asks nothing of it.
bool declares_recovery(const YamlNode& root) {
  const YamlNode* block = entry_of(root, "recovery");
  if (block == nullptr) return false;
  return block->entries.empty() || std::ranges::any_of(block->entries, [](const YamlEntry& entry) {
           return entry.key != "autopsy";
         });
}

ReadJob read_job(YamlNode& root) {
  ReadJob read;
  read.problems = correct_keys(job_schema(), root);
  read.unknown_keys = !read.problems.empty();
  append(read.problems, expand_short_forms(job_schema(), root));
  auto settled = settle_counts(root);
  append(read.problems, std::move(settled.problems));
  SchemaWalk walk;
  auto resolved = walk.complete(job_schema(), root);
  append(read.problems, std::move(walk).problems());
  if (root.kind == YamlKind::mapping) append(read.problems, check_together(root));
  read.notes = std::move(settled.notes);
  if (!read.problems.empty()) return read;
  resolved.erase("components");
  read.job = job_from_json(std::move(resolved));
  read.job->recovery.written = declares_recovery(root);
  const auto* runtime = entry_of(root, "runtime");
  read.job->stall_abort_written =
      runtime != nullptr && entry_of(*runtime, "stall_abort_seconds") != nullptr;
  return read;
}

/// The keys of the whole job; the others have their defaults.
Job whole_job(const YamlNode& given, std::vector<YamlProblem>& problems) {
  YamlNode root = given;
  append(problems, correct_keys(job_schema(), root));
  SchemaWalk walk;
  auto resolved = walk.complete(job_schema(), root);
  append(problems, std::move(walk).problems());
  if (!problems.empty()) return {};
  Job job = job_from_json(resolved);
  job.resolved = Json::object();
  for (const YamlEntry& entry : root.entries) job.resolved[entry.key] = resolved[entry.key];
  return job;
}

/// A problem of the top-level keys is one of every part.
void keep_one_of_each(std::vector<YamlProblem>& problems) {
  std::set<std::tuple<int, int, int, std::string>> seen;
  std::erase_if(problems, [&seen](const YamlProblem& one) {
    return !seen.emplace(one.mark.source, one.mark.line, one.mark.column, one.message).second;
  });
}

ParsedJob parse_modular(const YamlNode& root, std::vector<YamlProblem> problems,
                        const std::vector<Source>& sources) {
  auto split = split_components(root);
  append(problems, std::move(split.problems));
  Job whole = whole_job(split.whole, problems);
  std::vector<YamlProblem> notes;
  bool unknown_keys = false;
  for (auto& part : split.parts) {
    auto read = read_job(part.root);
    append(problems, std::move(read.problems));
    append(notes, std::move(read.notes));
    unknown_keys = unknown_keys || read.unknown_keys;
    if (read.job) whole.components.push_back({part.name, part.ends_job, *std::move(read.job)});
  }
  keep_one_of_each(problems);
  keep_one_of_each(notes);
  if (!problems.empty()) {
    auto all = failed(std::move(problems), sources);
    all.unknown_keys = unknown_keys;
    return all;
  }
  whole.resolved = stored_json(whole);
  ParsedJob parsed;
  parsed.job = std::move(whole);
  parsed.notes = placed(std::move(notes), sources);
  return parsed;
}

}  // namespace

std::string stem_of(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  std::string_view left = first_bytes(std::string_view(name).substr(0, name.rfind('.')), 200);
  std::string stem;
  while (!left.empty()) {
    const auto character = left.substr(0, std::max<std::size_t>(1, utf8_length(left)));
    // What has no place in a name of one line.
    stem += visible(character) == character ? character : "-";
    left.remove_prefix(character.size());
  }
  return stem.empty() ? "job" : stem;
}

ParsedJob parse_job(std::string_view text, const std::string& file,
                    std::span<const std::string> sets) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  std::vector<Source> sources{{file, lines_of(text)}};
  for (const std::string& set : sets) sources.push_back({"--set", lines_of(set)});

  auto document = parse_yaml(text, 0);
  if (document.problem) return failed({*std::move(document.problem)}, sources);
  YamlNode& root = *document.root;
  if (root.kind == YamlKind::null) {
    return failed({{{}, "the file is empty; a job needs 'train:' or 'run:'"}}, sources);
  }
  std::vector<YamlProblem> problems;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    // A path may lead through a block that the file has in its short form. Values stay short: nodes
    // that are given anew replace a whole range.
    expand_short_blocks(job_schema(), root);
    if (auto problem = apply_override(root, sets[i], static_cast<int>(i) + 1)) {
      problems.push_back(*std::move(problem));
    }
  }
  if (root.kind == YamlKind::mapping && entry_of(root, "name") == nullptr)
    root.entries.push_back(text_entry("name", stem_of(file), root.mark));
  if (has_components(root)) return parse_modular(root, std::move(problems), sources);
  auto read = read_job(root);
  append(problems, std::move(read.problems));
  if (!problems.empty()) {
    auto all = failed(std::move(problems), sources);
    all.unknown_keys = read.unknown_keys;
    return all;
  }
  ParsedJob parsed;
  parsed.job = *std::move(read.job);
  parsed.notes = placed(std::move(read.notes), sources);
  return parsed;
}

Json stored_json(const Job& job) {
  auto stored = job.resolved;
  if (!job.components.empty()) {
    stored["components"] = Json::array();
    for (const auto& part : job.components) {
      auto own = Json{{"name", part.name}, {"ends", part.ends_job ? "job" : "nothing"}};
      const auto keys = component_schema(job_schema());
      const auto resolved = stored_json(part.job);
      for (const auto& [key, value] : resolved.items())
        if (key != "name" && keys["properties"].contains(key)) own[key] = value;
      stored["components"].push_back(std::move(own));
    }
    return stored;
  }
  // The key's presence means that the user set it: do not write defaults.
  if (!job.recovery.written) {
    stored.erase("recovery");
    if (!job.recovery.autopsy) stored["recovery"] = {{"autopsy", false}};
  }
  if (!job.stall_abort_written && !job.run_command.empty() && stored.contains("runtime"))
    stored["runtime"].erase("stall_abort_seconds");
  return stored;
}

}  // namespace dllaunch

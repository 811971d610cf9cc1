#include "launcher/compare/differences.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "launcher/base/secrets.hpp"
#include "launcher/base/split.hpp"
#include "support/counted.hpp"

namespace dllaunch {
namespace {

using Values = std::map<std::string, std::string>;

/// A value a run for each name, in the order in which names were first seen.
class DifferenceTable {
 public:
  explicit DifferenceTable(std::size_t runs) : runs_(runs) {}

  /// What is known of a run: a name that it lacks has an empty value.
  void know(std::size_t run) {
    known_.resize(runs_);
    known_[run] = true;
  }
  void set(std::size_t run, const std::string& name, std::string value) {
    const auto [at, is_new] = places_.emplace(name, rows_.size());
    if (is_new) rows_.push_back({name, std::vector<std::string>(runs_)});
    rows_[at->second].second[run] = std::move(value);
  }
  void set_all(std::size_t run, const Values& values) {
    know(run);
    for (const auto& [name, value] : values) set(run, name, value);
  }

  /// The rows whose known values are not all the same.
  std::vector<Difference> differing() const {
    std::vector<Difference> all;
    for (const auto& [name, values] : rows_) {
      Difference one{.name = name};
      const std::string* first = nullptr;
      bool differs = false;
      for (std::size_t run = 0; run < runs_; ++run) {
        one.values.emplace_back();
        if (!known_[run]) continue;
        if (first == nullptr) first = &values[run];
        differs = differs || values[run] != *first;
        one.values.back() = values[run];
      }
      if (differs) all.push_back(std::move(one));
    }
    return all;
  }

 private:
  std::size_t runs_;
  std::vector<bool> known_ = std::vector<bool>(runs_);
  std::vector<std::pair<std::string, std::vector<std::string>>> rows_;
  std::map<std::string, std::size_t> places_;
};

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// That a secret differs is no secret.
std::string shown_text(const std::string& path, const Json& value) {
  return is_secret_name(path) ? "(left out)" : without_secrets(text_of(value));
}

const Json* member_of(const Json* object, const std::string& key) {
  const auto found = object->find(key);
  return found == object->end() ? nullptr : &*found;
}

/// The keys of several objects, in the order in which they are first seen.
std::vector<std::string> keys_of(const std::vector<const Json*>& objects) {
  std::vector<std::string> keys;
  std::set<std::string_view> seen;
  for (const Json* object : objects)
    if (object != nullptr)
      for (const auto& [key, value] : object->items())
        if (seen.insert(key).second) keys.push_back(key);
  return keys;
}

/// Blocks that all runs have are compared key by key; a block that one lacks is one difference.
/// `values`: of each run; nullptr: it has none. `known`: the runs that count.
void compare_values(const std::string& path, const std::vector<const Json*>& values,
                    const std::vector<bool>& known, std::vector<Difference>& into) {
  bool all_blocks = true;
  bool differs = false;
  const Json* const* first = nullptr;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!known[i]) continue;
    if (first == nullptr) first = &values[i];
    const bool both = values[i] != nullptr && *first != nullptr;
    all_blocks = all_blocks && values[i] != nullptr && values[i]->is_object();
    differs = differs || (both ? *values[i] != **first : values[i] != *first);
  }
  if (!differs) return;
  if (all_blocks) {
    for (const auto& key : keys_of(values)) {
      std::vector<const Json*> inner;
      inner.reserve(values.size());
      for (const Json* value : values)
        inner.push_back(value == nullptr ? nullptr : member_of(value, key));
      compare_values(path.empty() ? key : fmt::format("{}.{}", path, key), inner, known, into);
    }
    return;
  }
  Difference row{.name = path};
  for (std::size_t i = 0; i < values.size(); ++i) {
    row.values.emplace_back();
    if (known[i]) row.values.back() = values[i] ? shown_text(path, *values[i]) : "";
  }
  into.push_back(std::move(row));
}

std::vector<Difference> job_differences(std::span<const ComparedRun> runs) {
  std::vector<const Json*> jobs;
  std::vector<bool> known;
  for (const ComparedRun& run : runs) {
    known.push_back(run.job.is_object());
    jobs.push_back(known.back() ? &run.job : nullptr);
  }
  std::vector<Difference> rows;
  compare_values("", jobs, known, rows);
  return rows;
}

/// "1: 12 lines": equal changes have one number.
std::vector<std::string> diff_names(std::span<const ComparedRun> runs) {
  std::map<std::string, std::size_t> numbers;
  std::vector<std::string> names;
  for (const ComparedRun& run : runs) {
    if (!run.code_diff) {
      names.emplace_back();
      continue;
    }
    const auto number = numbers.emplace(*run.code_diff, numbers.size() + 1).first->second;
    const auto note = run.origin && run.origin->code ? run.origin->code->diff_note : "";
    names.push_back(fmt::format("{}: {}{}{}", number,
                                counted(std::ranges::distance(split_lines(*run.code_diff)), "line"),
                                note.empty() ? "" : ", ", note));
  }
  return names;
}

std::string yes_or_no(const std::optional<bool>& value) {
  return !value ? "unknown" : *value ? "yes" : "no";
}

std::vector<Difference> code_differences(std::span<const ComparedRun> runs) {
  DifferenceTable table(runs.size());
  const auto diffs = diff_names(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].origin) continue;
    const auto& code = runs[i].origin->code;
    // git did not answer in time: nothing but, perhaps, the revision is known.
    const bool slow = code && !code->why.empty();
    if (!slow) table.know(i);
    if (!slow || !code->revision.empty()) table.set(i, "revision", code ? code->revision : "");
    if (slow) continue;
    table.set(i, "branch", code ? code->branch : "");
    table.set(i, "uncommitted changes", code ? yes_or_no(code->dirty) : "");
    table.set(i, "code.diff", diffs[i]);
  }
  return table.differing();
}

/// Of what the records of starts say.
std::vector<Difference> origin_differences(std::span<const ComparedRun> runs, auto values_of) {
  DifferenceTable table(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (runs[i].origin) table.set_all(i, values_of(*runs[i].origin));
  return table.differing();
}

/// Records of earlier versions may hold passwords in addresses. What Slurm set in the job from
/// which this one was submitted says nothing of it: the job's number, its nodes, its address.
Values variables_of(const SubmissionRecord& origin) {
  Values all = origin.variables;
  if (all.contains("SLURM_JOB_ID"))
    std::erase_if(all, [](const auto& variable) { return variable.first.starts_with("SLURM_"); });
  for (auto& [name, value] : all)
    if (value.find("://") != std::string::npos) value = without_secrets(value);
  return all;
}

Values versions_of(const SubmissionRecord& origin) {
  Values all = origin.versions;
  all.emplace("dllaunch", origin.dllaunch);
  if (origin.python)
    all.emplace("Python", origin.python->why.empty() ? origin.python->version : "unknown");
  return all;
}

/// Not of a run without Python, or whose Python did not answer: it says nothing of packages.
std::vector<Difference> package_differences(std::span<const ComparedRun> runs) {
  DifferenceTable table(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!runs[i].origin) continue;
    const auto& python = runs[i].origin->python;
    if (python && python->why.empty()) table.set_all(i, python->packages);
  }
  return table.differing();
}

std::vector<Difference> place_differences(std::span<const ComparedRun> runs) {
  DifferenceTable table(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    table.know(i);
    table.set(i, "nodes", runs[i].hosts);
    table.set(i, "hardware of a node", runs[i].hardware);
  }
  auto rows = table.differing();
  for (auto& row : origin_differences(runs, [](const SubmissionRecord& origin) {
         return Values{{"submitted from", origin.host}};
       }))
    rows.push_back(std::move(row));
  return rows;
}

}  // namespace

std::vector<DifferenceGroup> differences_of(std::span<const ComparedRun> runs) {
  const auto seeds = [](const SubmissionRecord& one) { return one.seeds; };
  return {{.id = "job", .title = "Job file", .rows = job_differences(runs)},
          {.id = "code", .title = "Code", .rows = code_differences(runs)},
          {.id = "seeds", .title = "Seeds", .rows = origin_differences(runs, seeds)},
          {.id = "variables",
           .title = "Environment variables",
           .rows = origin_differences(runs, variables_of)},
          {.id = "versions", .title = "Versions", .rows = origin_differences(runs, versions_of)},
          {.id = "packages", .title = "Python packages", .rows = package_differences(runs)},
          {.id = "places", .title = "Machines", .rows = place_differences(runs)}};
}

}  // namespace dllaunch

#include "launcher/init/sbatch_directives.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include "launcher/init/sbatch_body.hpp"
#include "launcher/lint/rule.hpp"
#include "launcher/slurm/slurm_options.hpp"
#include "launcher/slurm/slurm_time.hpp"

namespace dllaunch {
namespace {

std::string as_word(const lint::GivenOption& option) {
  return "--" + option.name + (option.has_value ? "=" + option.value.bytes() : "");
}

/// --mem and --mem-per-gpu as the key has them; nullopt: only sbatch understands it (0 is a whole
/// node's).
std::optional<std::string> memory_of_option(std::string_view value) {
  const auto digits = value.find_first_not_of("0123456789");
  const bool number = digits != 0 && !value.empty() && value[0] != '0';
  if (!number) return std::nullopt;
  if (digits == std::string_view::npos) return std::string(value) + "M";
  const auto unit = static_cast<char>(std::toupper(static_cast<unsigned char>(value[digits])));
  if (digits + 1 != value.size() || std::string_view("KMGT").find(unit) == std::string_view::npos)
    return std::nullopt;
  return std::string(value.substr(0, digits)) + unit;
}

/// Reads each option once, the last one of its name: that is what takes effect.
class DirectiveReader {
 public:
  explicit DirectiveReader(const lint::Script& script) : script_(script) {}

  ConvertedDirectives read() {
    if (script_.directives.het_job > 0) refuse("it is a heterogeneous job of several components");
    const auto& parsed = script_.directives.parsed;
    for (std::size_t i = 0; i < parsed.options.size(); ++i) {
      const auto& option = parsed.options[i];
      if (lint::last_option(parsed, option.name) == &option) take(option);
    }
    for (const auto& problem : parsed.problems) {
      drop(script_.directives.lines[problem.word], problem.option,
           problem.complaint == Complaint::ambiguous ? "several options of sbatch begin so"
                                                     : "sbatch does not know it");
    }
    for (const std::size_t word : parsed.others) {
      drop(script_.directives.lines[word], script_.directives.words[word].bytes(),
           "sbatch does not know it");
    }
    count();
    return std::move(converted_);
  }

 private:
  void refuse(std::string why) { converted_.reasons.push_back(std::move(why)); }

  void drop(std::size_t at, const std::string& option, std::string_view why) {
    converted_.dropped.push_back(
        fmt::format("line {}: {}: {}", lint::line_of(script_.text, at), option, why));
  }

  void take(const lint::GivenOption& option) {
    if (is_read_by_body(option)) return;
    const std::string& value = option.value.bytes();
    const auto* known = find_slurm_option(option.name, SlurmProgram::sbatch);
    const auto fate = known == nullptr ? InJobFile::extra : known->in_job_file;
    if (fate == InJobFile::dropped) {
      drop(script_.at(option), as_word(option), known->what);
    } else if (fate == InJobFile::counted) {
      take_counted(option, value);
    } else if (fate == InJobFile::key && option.has_value &&
               take_key(std::string(known->what), value)) {
      return;
    } else {
      converted_.sbatch_extra.push_back(as_word(option));
    }
  }

  bool take_key(const std::string& key, const std::string& value) {
    if (value.empty()) return false;
    if (key == "time" && !parse_slurm_minutes(value)) return false;
    if (key.starts_with("memory")) {
      const auto memory = memory_of_option(value);
      const Json amount = memory ? Json(*memory) : Json();
      if (memory)
        converted_.resources.push_back(
            {.key = "memory", .value = key == "memory" ? amount : Json{{"per_gpu", amount}}});
      return memory.has_value();
    }
    converted_.resources.push_back({.key = key, .value = value});
    return true;
  }

  void take_counted(const lint::GivenOption& option, const std::string& value) {
    if (option.name == "job-name") converted_.name = value;
    if (option.name == "array") converted_.array = value;
    const bool exclusive = option.name == "exclusive" && option.has_value;
    const bool gpus = option.name == "gres" ||
                      (option.name.starts_with("gpus") && option.name != "gpus-per-task");
    // A type of GPU, or another resource, has no key of its own. Options of a task would hide GPUs.
    const bool plain = value.find_first_not_of("0123456789", value.starts_with("gpu:") ? 4 : 0) ==
                       std::string::npos;
    if (exclusive || (gpus && !plain)) converted_.sbatch_extra.push_back(as_word(option));
  }

  void count() {
    const SlurmRequest& request = script_.request;
    if (request.node_range)
      refuse("--nodes is a range, and a job file has one number of nodes");
    else if (request.nodes < 1)
      refuse("it does not say how many nodes it needs: write --nodes");
    if (request.ntasks > 0 && request.nodes > 0 && request.tasks_per_node() < 1)
      refuse(
          fmt::format("--ntasks={} does not divide over {} nodes", request.ntasks, request.nodes));
  }

  const lint::Script& script_;
  ConvertedDirectives converted_;
};

}  // namespace

ConvertedDirectives convert_directives(const lint::Script& script) {
  return DirectiveReader(script).read();
}

JobCounts counts_of(const SlurmRequest& job, const SlurmRequest& step) {
  const bool counted = job.ntasks > 0 || job.tasks_per_node() > 0;
  JobCounts counts{.nodes = std::max(1L, job.nodes),
                   .tasks_per_node = counted ? job.tasks_per_node() : 1,
                   .cpus_per_task = step.task_cpus(),
                   .exclusive = job.exclusive};
  if (step.tasks_per_node() > 0) counts.tasks_per_node = step.tasks_per_node();
  // A step gets of the job's GPUs; it is asked only where the job's options do not say.
  const SlurmRequest& gives = job.wants_gpus ? job : step;
  if (!gives.wants_gpus) return counts;
  counts.gpus_per_node = gives.node_gpus();
  if (counts.gpus_per_node < 0 && gives.gpus_per_task > 0)
    counts.gpus_per_node = gives.gpus_per_task * counts.tasks_per_node;
  return counts;
}

bool counts_cores(const lint::Script& script) {
  const auto* hint = script.directive("hint");
  const auto* threads = script.directive("threads-per-core");
  return (hint != nullptr && hint->value.bytes() == "nomultithread") ||
         (threads != nullptr && threads->value.bytes() == "1");
}

}  // namespace dllaunch

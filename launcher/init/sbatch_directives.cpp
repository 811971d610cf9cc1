#include "launcher/init/sbatch_directives.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include "launcher/init/sbatch_body.hpp"
#include "launcher/lint/rule.hpp"
#include "launcher/slurm/slurm_time.hpp"

namespace dllaunch {
namespace {

enum class Fate { key, counted, dropped, extra };

struct DirectiveFate {
  std::string_view option;
  Fate fate;
  std::string_view what;  // the key of resources, or why it is dropped
};

constexpr std::string_view output_is_ours =
    "the output of the ranks goes to the run directory (`dllaunch logs`)";

constexpr std::array<DirectiveFate, 25> fates = {{
    {"job-name", Fate::counted, ""},
    {"nodes", Fate::counted, ""},
    {"ntasks", Fate::counted, ""},
    {"ntasks-per-node", Fate::counted, ""},
    {"cpus-per-task", Fate::counted, ""},
    {"gpus", Fate::counted, ""},
    {"gpus-per-node", Fate::counted, ""},
    {"gpus-per-task", Fate::counted, ""},
    {"exclusive", Fate::counted, ""},
    {"gres", Fate::counted, ""},
    {"mem", Fate::key, "memory"},
    {"mem-per-gpu", Fate::key, "memory.per_gpu"},
    {"array", Fate::counted, ""},
    {"time", Fate::key, "time"},
    {"partition", Fate::key, "partition"},
    {"account", Fate::key, "account"},
    {"qos", Fate::key, "qos"},
    {"reservation", Fate::key, "reservation"},
    {"constraint", Fate::key, "constraint"},
    {"exclude", Fate::key, "exclude"},
    {"output", Fate::dropped, output_is_ours},
    {"error", Fate::dropped, output_is_ours},
    {"open-mode", Fate::dropped, output_is_ours},
    {"chdir", Fate::dropped, "the job runs where `dllaunch run` is called"},
    {"signal", Fate::dropped,
     "write recovery: {signal: ..., grace_seconds: ...} if the ranks handle it"},
}};

Fate fate_of(std::string_view option, std::string_view& what) {
  const auto found = std::ranges::find(fates, option, &DirectiveFate::option);
  if (found == fates.end()) return Fate::extra;
  what = found->what;
  return found->fate;
}

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
      drop(script_.directives.lines[problem.word], problem.option, "sbatch does not know it");
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
    std::string_view what;
    const Fate fate = fate_of(option.name, what);
    if (fate == Fate::dropped) {
      drop(script_.at(option), as_word(option), what);
    } else if (fate == Fate::counted) {
      take_counted(option, value);
    } else if (fate == Fate::key && option.has_value && take_key(std::string(what), value)) {
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
    const bool gpus = option.name == "gres" || option.name.starts_with("gpus");
    // A type of GPU, or another resource, has no key of its own.
    const bool plain = value.find_first_not_of("0123456789", value.starts_with("gpu:") ? 4 : 0) ==
                       std::string::npos;
    if (exclusive || (gpus && !plain)) converted_.sbatch_extra.push_back(as_word(option));
  }

  void count() {
    const lint::Request& request = script_.request;
    JobCounts& counts = converted_.counts;
    if (request.node_range)
      refuse("--nodes is a range, and a job file has one number of nodes");
    else if (request.nodes < 1)
      refuse("it does not say how many nodes it needs: write --nodes");
    counts.nodes = std::max(1L, request.nodes);
    const bool counted = request.ntasks > 0 || request.ntasks_per_node > 0;
    counts.tasks_per_node = counted ? request.tasks_per_node() : 1;
    if (counts.tasks_per_node < 1 && request.nodes > 0)
      refuse(fmt::format("--ntasks={} do not divide over {} nodes", request.ntasks, request.nodes));
    counts.cpus_per_task = request.cpus_per_task;
    counts.exclusive = request.exclusive;
    counts.gpus_per_node = request.wants_gpus ? request.node_gpus() : 0;
    if (request.wants_gpus && counts.gpus_per_node < 0)
      refuse("its number of GPUs does not divide over its nodes, or is not written as a number");
  }

  const lint::Script& script_;
  ConvertedDirectives converted_;
};

}  // namespace

ConvertedDirectives convert_directives(const lint::Script& script) {
  return DirectiveReader(script).read();
}

bool counts_cores(const lint::Script& script) {
  const auto* hint = script.directive("hint");
  const auto* threads = script.directive("threads-per-core");
  return (hint != nullptr && hint->value.bytes() == "nomultithread") ||
         (threads != nullptr && threads->value.bytes() == "1");
}

}  // namespace dllaunch

// The rules, and what they report about a script.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/lint/cpu_bind.hpp"
#include "launcher/lint/script.hpp"
#include "topology/network/network.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch::lint {

enum class Severity { error, warning };

/// Replaces bytes begin .. end of the script with `text`.
struct Edit {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text = {};
  friend bool operator==(const Edit&, const Edit&) = default;
};

struct Finding {
  std::string id = {};
  Severity severity = Severity::warning;
  std::size_t at = 0;            // offset in the script
  std::string message = {};      // what was found, and its consequence
  std::string fix = {};          // what to write instead; may be empty
  std::vector<Edit> edits = {};  // only if certainly correct
};

/// Context besides the script.
struct Surroundings {
  std::optional<Topology> topology = {};  // of the nodes that the job requests
  Network network = {};                   // between them; empty: unknown
  std::string host_suffix = {};           // of the names by which they reach each other
  /// Whether a path, relative to where the script is submitted, is a folder. Unset: unknown.
  std::function<bool(const std::string&)> is_folder = {};
};

struct Subject {
  const Script& script;
  const Surroundings& around;
  std::vector<CpuBind> binds = {};  // explicit CPU lists of all steps
};

/// Collects the findings of a rule.
class Report {
 public:
  Finding& add(std::size_t at, std::string message, std::string fix, std::vector<Edit> edits = {});

  /// Further findings would not help.
  bool full() const { return findings.size() >= most; }

  static constexpr std::size_t most = 200;
  Severity severity = Severity::warning;  // of the rule; a finding may have another
  std::vector<Finding> findings = {};
};

struct Rule {
  std::string_view id;
  Severity severity;
  std::string_view summary;  // its line in docs/how-to/lint.md
  void (*check)(const Subject&, Report&);
};

/// All rules, by area.
std::span<const Rule> rules();

struct RuleArea {
  std::span<const Rule> rules;
  std::string_view cause;  // why such faults happen, and matter
};
std::span<const RuleArea> rule_areas();

// The rules by area: one file each in rules/.
std::span<const Rule> script_rules();
std::span<const Rule> directive_rules();
std::span<const Rule> task_rules();
std::span<const Rule> mask_rules();
std::span<const Rule> node_rules();
std::span<const Rule> network_rules();
std::span<const Rule> gpu_rules();
std::span<const Rule> rendezvous_rules();

// Edits that several rules use.

/// Inserts a directive after the last one, or after the #! line.
Edit add_directive(const Script& script, const std::string& option);
/// Removes an option from a directive, and the line if nothing else is on it.
Edit remove_directive(const Script& script, const GivenOption& option);
/// Replaces an option and its value, of a directive or (with the launch's arguments) of srun;
/// nullopt if it is not written in one piece.
std::optional<Edit> replace_option(std::span<const Text> words, const GivenOption& option,
                                   const std::string& text);
/// Inserts an option after the word srun; nullopt if that word is not at one place in the script.
std::optional<Edit> add_step_option(const Launch& launch, const std::string& option);
/// Removes an option of srun and the blanks before it.
std::optional<Edit> remove_step_option(const Script& script, const Launch& launch,
                                       const GivenOption& option);

/// Whether the step uses GPUs or CPUs for work, as far as the script shows: not hostname, mkdir,
/// python -c, ...
bool does_work(const Script& script, const Launch& launch);
/// Whether a rank of the step may start its node's workers itself: it runs torchrun or the like,
/// possibly through `bash -c '$LAUNCHER ...'`, or a program that the script does not show.
bool may_start_workers(const Script& script, const Launch& launch);
/// Whether the option says that ranks are not bound to GPUs.
bool unbinds(const GivenOption& option);
/// 1-based.
std::size_t line_of(std::string_view text, std::size_t at);

}  // namespace dllaunch::lint

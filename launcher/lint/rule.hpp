// What is wrong with a script, and the rules that look for it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/lint/cpu_bind.hpp"
#include "launcher/lint/script.hpp"
#include "topology/node/topology.hpp"

namespace dllaunch::lint {

enum class Severity { error, warning };

/// Bytes begin .. end of the script become `text`.
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
  std::string message = {};      // what was seen and what it costs
  std::string fix = {};          // what to write instead; may be empty
  std::vector<Edit> edits = {};  // only where they are certainly right
};

/// What is known besides the script.
struct Surroundings {
  std::optional<Topology> topology = {};  // of the nodes that the job asks for
  /// Where the script stands or is submitted: whether a path (also a relative one) is a folder.
  /// Absent: nobody can say.
  std::function<bool(const std::string&)> is_folder = {};
};

struct Subject {
  const Script& script;
  const Surroundings& around;
  std::vector<CpuBind> binds = {};  // explicit CPU lists of all steps
};

/// Where a rule's check puts what it finds.
class Report {
 public:
  void add(std::size_t at, std::string message, std::string fix, std::vector<Edit> edits = {});

  /// More would help nobody.
  bool full() const { return findings.size() >= most; }

  static constexpr std::size_t most = 200;
  std::vector<Finding> findings = {};
};

struct Rule {
  std::string_view id;
  Severity severity;
  std::string_view summary;  // one line of docs/lint.md
  void (*check)(const Subject&, Report&);
};

/// All rules, by area.
std::span<const Rule> rules();

// The areas, one file each in rules/.
std::span<const Rule> script_rules();
std::span<const Rule> directive_rules();
std::span<const Rule> task_rules();
std::span<const Rule> mask_rules();
std::span<const Rule> node_rules();
std::span<const Rule> gpu_rules();
std::span<const Rule> rendezvous_rules();

// Edits that several rules make.

/// A line behind the last directive, or behind the #! line.
Edit add_directive(const Script& script, const std::string& option);
/// Removes an option of a directive, with its line where nothing else stands there.
Edit remove_directive(const Script& script, const GivenOption& option);
/// Replaces an option with its value, of a directive or (with the launch's arguments) of srun;
/// nothing where it is not written in one piece.
std::optional<Edit> replace_option(std::span<const Text> words, const GivenOption& option,
                                   const std::string& text);
/// Behind the word srun; nothing where that stands in no one place.
std::optional<Edit> add_step_option(const Launch& launch, const std::string& option);
/// Removes an option of srun together with the blanks before it.
std::optional<Edit> remove_step_option(const Script& script, const Launch& launch,
                                       const GivenOption& option);

/// Whether the step does something with GPUs or CPUs, as far as the script shows: not hostname,
/// mkdir, python -c, ...
bool does_work(const Script& script, const Launch& launch);
/// Whether a rank of the step may start the workers of its node by itself: it runs torchrun or the
/// like, also behind `bash -c '$LAUNCHER ...'`, or a program that the script does not show.
bool may_start_workers(const Script& script, const Launch& launch);
/// 1-based.
std::size_t line_of(std::string_view text, std::size_t at);

}  // namespace dllaunch::lint

#include "launcher/slurm/slurm_options.hpp"

#include <algorithm>

#include "launcher/base/nearest_name.hpp"

namespace dllaunch {
namespace {

constexpr auto none = OptionArgument::none;
constexpr auto required = OptionArgument::required;
constexpr auto optional = OptionArgument::optional;

// Both programs accept an option unless the last two columns (sbatch, srun) say otherwise.
constexpr SlurmOption table[] = {
    {"accel-bind", 0, required, false, true},
    {"account", 'A', required},
    {"acctg-freq", 0, required},
    {"array", 'a', required, true, false},
    {"async", 0, none, true, true},
    {"autocomplete", 0, required},
    {"batch", 0, required, true, false},
    {"bb", 0, required},
    {"bbf", 0, required},
    {"bcast", 0, optional, false, true},
    {"bcast-exclude", 0, required, false, true},
    {"begin", 'b', required},
    {"chdir", 'D', required},
    {"cluster", 0, required},
    {"cluster-constraint", 0, required},
    {"clusters", 'M', required},
    {"comment", 0, required},
    {"compress", 0, optional, false, true},
    {"consolidate-segments", 0, none},
    {"constraint", 'C', required},
    {"container", 0, required},
    {"container-id", 0, required},
    {"contiguous", 0, none},
    {"core-spec", 'S', required},
    {"cores-per-socket", 0, required},
    {"cpu-bind", 0, required, false, true},
    {"cpu-freq", 0, required},
    {"cpu_bind", 0, required, false, true},
    {"cpus-per-gpu", 0, required},
    {"cpus-per-task", 'c', required},
    {"deadline", 0, required},
    {"debugger-test", 0, none, false, true},
    {"delay-boot", 0, required},
    {"dependency", 'd', required},
    {"disable-status", 'X', none, false, true},
    {"distribution", 'm', required},
    {"epilog", 0, required, false, true},
    {"error", 'e', required},
    {"exact", 0, none, false, true},
    {"exclude", 'x', required},
    {"exclusive", 0, optional},
    {"export", 0, required},
    {"export-file", 0, required, true, false},
    {"external", 0, none, false, true},
    {"external-launcher", 0, none, false, true},
    {"extra", 0, required},
    {"extra-node-info", 'B', required},
    {"get-user-env", 0, optional, true, false},
    {"gid", 0, required},
    {"gpu-bind", 0, required},
    {"gpu-freq", 0, required},
    {"gpus", 'G', required},
    {"gpus-per-node", 0, required},
    {"gpus-per-socket", 0, required},
    {"gpus-per-task", 0, required},
    {"gres", 0, required},
    {"gres-flags", 0, required},
    {"help", 'h', none},
    {"het-group", 0, required, false, true},
    {"hint", 0, required},
    {"hold", 'H', none},
    {"ignore-pbs", 0, none, true, false},
    {"immediate", 'I', optional},
    {"input", 'i', required},
    {"interactive", 0, none, false, true},
    {"job-name", 'J', required},
    {"jobid", 0, required},
    {"kill-on-bad-exit", 'K', optional, false, true},
    {"kill-on-invalid-dep", 0, required, true, false},
    {"label", 'l', none, false, true},
    {"licenses", 'L', required},
    {"mail-type", 0, required},
    {"mail-user", 0, required},
    {"mcs-label", 0, required},
    {"mem", 0, required},
    {"mem-bind", 0, required},
    {"mem-per-cpu", 0, required},
    {"mem-per-gpu", 0, required},
    {"mem_bind", 0, required, false, true},
    {"mincpus", 0, required},
    {"mpi", 0, required, false, true},
    {"msg-timeout", 0, required, false, true},
    {"multi-prog", 0, none, false, true},
    {"network", 0, required},
    {"nice", 0, optional},
    {"no-allocate", 'Z', none, false, true},
    {"no-bell", 0, none},
    {"no-kill", 'k', optional},
    {"no-requeue", 0, none, true, false},
    {"no-shell", 0, none},
    {"nodefile", 'F', required},
    {"nodelist", 'w', required},
    {"nodes", 'N', required},
    {"ntasks", 'n', required},
    {"ntasks-per-core", 0, required},
    {"ntasks-per-gpu", 0, required},
    {"ntasks-per-node", 0, required},
    {"ntasks-per-socket", 0, required},
    {"ntasks-per-tres", 0, required},
    {"oom-kill-step", 0, optional},
    {"open-mode", 0, required},
    {"output", 'o', required},
    {"overcommit", 'O', none},
    {"overlap", 0, none, false, true},
    {"oversubscribe", 's', none},
    {"parsable", 0, optional, true, false},
    {"partition", 'p', required},
    {"power", 0, required},
    {"prefer", 0, required},
    {"preserve-env", 'E', none, false, true},
    {"priority", 0, required},
    {"profile", 0, required},
    {"prolog", 0, required, false, true},
    {"propagate", 0, optional},
    {"pty", 0, optional, false, true},
    {"qos", 'q', required},
    {"quiet", 'Q', none},
    {"quit-on-interrupt", 0, none, false, true},
    {"reboot", 0, none},
    {"relative", 'r', required, false, true},
    {"requeue", 0, optional, true, false},
    {"reservation", 0, required},
    {"resources", 0, required},
    {"resv-ports", 0, optional},
    {"segment", 0, required},
    {"send-libs", 0, optional, false, true},
    {"share", 0, none},
    {"signal", 0, required},
    {"slurmd-debug", 0, required, false, true},
    {"sockets-per-node", 0, required},
    {"spread-job", 0, none},
    {"spread-segments", 0, none},
    {"stepmgr", 0, none},
    {"switches", 0, required},
    {"task-epilog", 0, required, false, true},
    {"task-prolog", 0, required, false, true},
    {"test-only", 0, none},
    {"thread-spec", 0, required},
    {"threads", 'T', required, false, true},
    {"threads-per-core", 0, required},
    {"time", 't', required},
    {"time-min", 0, required},
    {"tmp", 0, required},
    {"treewidth", 0, required, false, true},
    {"tres-bind", 0, required},
    {"tres-per-job", 0, required},
    {"tres-per-node", 0, required},
    {"tres-per-socket", 0, required},
    {"tres-per-task", 0, required},
    {"uid", 0, required},
    {"unbuffered", 'u', none, false, true},
    {"usage", 0, none},
    {"use-min-nodes", 0, none},
    {"verbose", 'v', none},
    {"version", 'V', none},
    {"wait", 'W', none, true, false},
    {"wait", 'W', required, false, true},
    {"wait-all-nodes", 0, required, true, false},
    {"wait-for-children", 0, none, false, true},
    {"wckey", 0, required},
    {"whole", 0, none, false, true},
    {"wrap", 0, optional, true, false},
    {"x11", 0, optional},
    // Plugins common among sites: enroot/pyxis and EAR.
    {"container-image", 0, required},
    {"container-mounts", 0, required},
    {"container-workdir", 0, required},
    {"container-name", 0, required},
    {"container-save", 0, required},
    {"container-mount-home", 0, none},
    {"no-container-mount-home", 0, none},
    {"container-remap-root", 0, none},
    {"no-container-remap-root", 0, none},
    {"container-entrypoint", 0, none},
    {"no-container-entrypoint", 0, none},
    {"container-entrypoint-log", 0, none},
    {"container-writable", 0, none},
    {"container-readonly", 0, none},
    {"container-env", 0, required},
    {"environment", 0, required},
    {"edf", 0, required},
    {"ear", 0, required},
    {"ear-policy", 0, required},
    {"ear-cpufreq", 0, required},
    {"ear-policy-th", 0, required},
    {"ear-user-db", 0, required},
    {"ear-verbose", 0, required},
    {"ear-learning", 0, required},
    {"ear-tag", 0, required},
};

bool serves(const SlurmOption& option, SlurmProgram program) {
  return program == SlurmProgram::sbatch ? option.sbatch : option.srun;
}

const SlurmOption* find_letter(char letter, SlurmProgram program) {
  for (const SlurmOption& option : table) {
    if (option.letter == letter && letter != '\0' && serves(option, program)) return &option;
  }
  return nullptr;
}

/// getopt_long accepts any unambiguous prefix.
const SlurmOption* find_abbreviation(std::string_view typed, SlurmProgram program,
                                     bool& ambiguous) {
  if (const SlurmOption* exact = find_slurm_option(typed, program)) return exact;
  const SlurmOption* found = nullptr;
  for (const SlurmOption& option : table) {
    if (!serves(option, program) || !option.name.starts_with(typed)) continue;
    ambiguous = ambiguous || found != nullptr;
    found = &option;
  }
  return ambiguous ? nullptr : found;
}

/// Parses words the way getopt_long does.
class OptionParser {
 public:
  OptionParser(std::span<const std::string_view> words, SlurmProgram program)
      : words_(words), program_(program) {}

  ReadOptions parse() {
    for (; next_ < words_.size() && !in_program_; ++next_) {
      const std::string_view word = words_[next_];
      if (word == "--") {
        ++next_;
        break;
      }
      if (word.starts_with(unknown_piece)) {
        parsed_.complete = false;
      } else if (word.starts_with("--")) {
        take_long();
      } else if (word.size() > 1 && word[0] == '-') {
        take_letters();
      } else if (program_ == SlurmProgram::srun) {
        break;
      } else {
        parsed_.others.push_back(next_);
      }
    }
    parsed_.program = std::min(next_, words_.size());
    return std::move(parsed_);
  }

 private:
  void complain(Complaint complaint, std::string option) {
    // An earlier unknown word may have been the program, and these its options.
    in_program_ = !parsed_.complete;
    if (in_program_) return;
    parsed_.problems.push_back({complaint, std::move(option), next_});
  }

  /// Takes the next word as the value.
  void take_next(ReadOption given, const std::string& typed) {
    if (next_ + 1 >= words_.size()) {
      if (parsed_.complete) complain(Complaint::lacks_value, typed);
      return;
    }
    given.has_value = true;
    given.last_word = ++next_;
    parsed_.options.push_back(std::move(given));
  }

  void take_long() {
    const std::string_view word = words_[next_];
    const std::size_t equals = word.find('=');
    const std::string name(word.substr(2, equals == std::string::npos ? equals : equals - 2));
    if (name.find(unknown_piece) != std::string::npos) {
      parsed_.complete = false;
      return;
    }
    bool ambiguous = false;
    const SlurmOption* option = find_abbreviation(name, program_, ambiguous);
    if (option == nullptr) {
      complain(ambiguous ? Complaint::ambiguous : Complaint::unknown, "--" + name);
      return;
    }
    ReadOption given;
    given.name = option->name;
    given.word = given.last_word = next_;
    if (equals != std::string::npos) {
      if (option->argument == OptionArgument::none) {
        complain(Complaint::takes_no_value, "--" + name);
        return;
      }
      given.has_value = true;
      given.value_at = equals + 1;
    } else if (option->argument == OptionArgument::required) {
      take_next(std::move(given), "--" + name);
      return;
    }
    parsed_.options.push_back(std::move(given));
  }

  void take_letters() {
    const std::string_view word = words_[next_];
    const std::size_t at_word = next_;
    for (std::size_t i = 1; i < word.size(); ++i) {
      const char letter = word[i];
      if (letter == unknown_piece) {
        parsed_.complete = false;
        return;
      }
      const SlurmOption* option = find_letter(letter, program_);
      if (option == nullptr) {
        complain(Complaint::unknown, std::string("-") + letter);
        return;
      }
      ReadOption given;
      given.name = option->name;
      given.word = given.last_word = at_word;
      given.at = i == 1 ? 0 : i;
      const bool rest = i + 1 < word.size();
      if (option->argument == OptionArgument::none ||
          (option->argument == OptionArgument::optional && !rest)) {
        parsed_.options.push_back(std::move(given));
        continue;
      }
      if (!rest) {
        take_next(std::move(given), std::string("-") + letter);
        return;
      }
      given.has_value = true;
      given.value_at = i + 1;
      parsed_.options.push_back(std::move(given));
      return;
    }
  }

  std::span<const std::string_view> words_;
  SlurmProgram program_;
  std::size_t next_ = 0;
  bool in_program_ = false;
  ReadOptions parsed_;
};

}  // namespace

std::span<const SlurmOption> slurm_options() {
  return table;
}

const SlurmOption* find_slurm_option(std::string_view name, SlurmProgram program) {
  for (const SlurmOption& option : table) {
    if (option.name == name && serves(option, program)) return &option;
  }
  return nullptr;
}

ReadOptions read_slurm_options(std::span<const std::string_view> words, SlurmProgram program) {
  ReadOptions parsed = OptionParser(words, program).parse();
  for (ReadOption& option : parsed.options) {
    std::ranges::replace(option.name, '_', '-');
  }
  return parsed;
}

std::string_view value_of(const ReadOption& option, std::span<const std::string_view> words) {
  return option.has_value ? words[option.last_word].substr(option.value_at) : std::string_view();
}

std::string nearest_slurm_option(std::string_view typed, SlurmProgram program) {
  if (!typed.starts_with("--")) return "";
  std::vector<std::string> names;
  for (const SlurmOption& option : table) {
    if (serves(option, program)) names.emplace_back(option.name);
  }
  std::string word(typed.substr(2));
  std::ranges::replace(word, '_', '-');
  const auto nearest = nearest_name(word, names);
  return nearest ? "--" + *nearest : "";
}

}  // namespace dllaunch

#include "launcher/slurm/slurm_options.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <utility>

#include "launcher/base/nearest_name.hpp"
#include "launcher/base/split.hpp"
#include "launcher/slurm/slurm_request.hpp"

namespace dllaunch {
namespace {

using Ask = SlurmRequest;
using Form = OptionValue;
using enum InJobFile;
using enum VariableFate;

constexpr unsigned in_sbatch = 1;
constexpr unsigned in_srun = 2;
constexpr unsigned in_salloc = 4;
constexpr unsigned batch_and_step = in_sbatch | in_srun;

constexpr SlurmOption flag(std::string_view name, char letter = '\0') {
  return {.name = name, .letter = letter, .argument = OptionArgument::none};
}
constexpr SlurmOption valued(std::string_view name, char letter = '\0') {
  return {.name = name, .letter = letter};
}
constexpr SlurmOption optional(std::string_view name, char letter = '\0') {
  return {.name = name, .letter = letter, .argument = OptionArgument::optional};
}

constexpr std::string_view output_is_ours =
    "the output of the ranks goes to the run directory (`dllaunch logs`)";
constexpr std::string_view gpus_are_ours =
    "dllaunch tells each rank its GPU, and leaves the others of its node in sight";

// Slurm 22.05 to 26.05, from its manuals and the tables of its option parsers: every spelling, who
// takes it, what it asks for, what becomes of it in a job file and of the variable that sets it. An
// argument that some version does not take, or does not need, is optional.
constexpr SlurmOption table[] = {
    valued("accel-bind").only(in_srun),
    valued("account", 'A').key("account").sbatch(adopted).srun(unset),
    valued("acctg-freq").sbatch(adopted).srun(inherited),
    valued("array", 'a').only(in_sbatch).becomes(counted).sbatch(refused, "SBATCH_ARRAY_INX"),
    flag("async").only(in_srun).since(2605),
    valued("autocomplete").since(2302),
    valued("batch").only(in_sbatch).sbatch(adopted),
    valued("bb").sbatch(adopted, "SBATCH_BURST_BUFFER").srun(unset, "SLURM_BURST_BUFFER"),
    valued("bbf"),
    optional("bcast").only(in_srun).srun(unset),
    valued("bcast-exclude").only(in_srun).srun(unset),
    valued("begin", 'b'),
    flag("bell").only(in_salloc),
    valued("chdir", 'D')
        .srun(unset, "SLURM_REMOTE_CWD")
        .becomes(dropped, "the job runs where `dllaunch run` is called"),
    valued("cluster"),
    valued("cluster-constraint").sbatch(adopted).srun(unset),
    valued("clusters", 'M').sbatch(refused).srun(unset),
    valued("comment"),
    optional("compress").only(in_srun).srun(unset),
    flag("consolidate-segments").sbatch(refused).srun(unset).since(2511),
    valued("constraint", 'C').key("constraint").sbatch(adopted).srun(unset),
    valued("container").sbatch(refused).srun(unset, "SRUN_CONTAINER"),
    valued("container-id").sbatch(refused).srun(unset, "SRUN_CONTAINER_ID").since(2302),
    valued("container-type").sbatch(refused).srun(unset, "SRUN_CONTAINER_TYPE").since(2605),
    flag("contiguous"),
    valued("core-spec", 'S').sbatch(refused).srun(unset),
    valued("cores-per-socket")
        .asks(&Ask::cores_per_socket)
        .becomes(extra)
        .srun(unset, "SLURM_NCORES_PER_SOCKET"),
    valued("cpu-bind").only(in_srun).srun(unset),
    valued("cpu-freq").sbatch(adopted, "SBATCH_CPU_FREQ_REQ").srun(inherited, "SLURM_CPU_FREQ_REQ"),
    valued("cpu_bind").only(in_srun).means("cpu-bind"),
    valued("cpus-per-gpu").asks(&Ask::cpus_per_gpu).sbatch(refused).srun(inherited),
    valued("cpus-per-task", 'c').asks(&Ask::cpus_per_task).srun(unset),
    valued("deadline"),
    flag("debugger-test").only(in_srun),
    valued("delay-boot").sbatch(adopted).srun(unset),
    valued("dependency", 'd').srun(unset),
    flag("disable-status", 'X').only(in_srun).srun(unset),
    valued("distribution", 'm').sbatch(refused).srun(inherited),
    valued("epilog").only(in_srun).srun(unset),
    valued("error", 'e')
        .only(batch_and_step)
        .sbatch(refused)
        .srun(unset, "SLURM_STDERRMODE")
        .becomes(dropped, output_is_ours),
    flag("exact").only(in_srun).srun(unset),
    valued("exclude", 'x').key("exclude"),
    optional("exclusive").becomes(counted).sbatch(refused).srun(unset),
    valued("export").only(batch_and_step).sbatch(adopted).srun(unset, "SLURM_EXPORT_ENV"),
    valued("export-file").only(in_sbatch),
    flag("external").only(in_sbatch).since(2505),
    optional("external-launcher").only(in_srun).srun(unset).since(2311),
    valued("extra").since(2302),
    valued("extra-node-info", 'B'),
    optional("get-user-env").only(in_sbatch | in_salloc).sbatch(refused),
    valued("gid"),
    valued("gpu-bind").sbatch(refused).srun(inherited).becomes(dropped, gpus_are_ours),
    valued("gpu-freq").sbatch(adopted).srun(inherited),
    valued("gpus", 'G').asks(&Ask::gpus, Form::gpus).sbatch(refused).srun(inherited),
    valued("gpus-per-node").asks(&Ask::gpus_per_node, Form::gpus).sbatch(refused).srun(inherited),
    valued("gpus-per-socket")
        .asks(&Ask::gpus_per_socket, Form::gpus)
        .sbatch(refused)
        .srun(inherited),
    valued("gpus-per-task").asks(&Ask::gpus_per_task, Form::gpus).sbatch(refused).srun(inherited),
    valued("gres").becomes(counted).sbatch(adopted).srun(unset),
    valued("gres-flags").sbatch(refused).srun(unset),
    flag("help", 'h'),
    valued("het-group").only(in_srun),
    valued("hint").sbatch(refused).srun(inherited),
    flag("hold", 'H'),
    flag("ignore-pbs").only(in_sbatch),
    valued("ignore-signals").only(in_srun).since(2605),
    optional("immediate", 'I').only(in_srun | in_salloc),
    valued("input", 'i').only(batch_and_step).sbatch(refused).srun(unset, "SLURM_STDINMODE"),
    flag("interactive").only(in_srun),
    valued("job-name", 'J').becomes(counted).sbatch(refused),
    valued("jobid").only(in_srun),
    optional("kill-command", 'K').only(in_salloc),
    optional("kill-on-bad-exit", 'K').only(in_srun).srun(unset, "SLURM_KILL_BAD_EXIT"),
    valued("kill-on-invalid-dep").only(in_sbatch),
    flag("label", 'l').only(in_srun).srun(unset, "SLURM_LABELIO"),
    valued("licenses", 'L'),
    valued("mail-type"),
    valued("mail-user"),
    valued("mcs-label"),
    valued("mem")
        .asks(&Ask::memory_per_node, Form::memory)
        .key("memory")
        .sbatch(adopted, "SBATCH_MEM_PER_NODE")
        .srun(kept, "SLURM_MEM_PER_NODE"),
    valued("mem-bind").sbatch(refused).srun(inherited),
    valued("mem-per-cpu")
        .asks(&Ask::memory_per_cpu, Form::memory)
        .becomes(extra)
        .sbatch(adopted)
        .srun(inherited),
    valued("mem-per-gpu")
        .asks(&Ask::memory_per_gpu, Form::memory)
        .key("memory.per_gpu")
        .sbatch(adopted)
        .srun(inherited),
    valued("mem-update").since(2605),
    valued("mincpus"),
    valued("mpi").only(in_srun).srun(unset, "SLURM_MPI_TYPE"),
    valued("msg-timeout").only(in_srun),
    flag("multi-prog").only(in_srun).srun(unset, "SLURM_SRUN_MULTI"),
    valued("network").sbatch(adopted).srun(inherited),
    optional("nice"),
    flag("no-allocate", 'Z').only(in_srun),
    flag("no-bell").only(in_salloc),
    optional("no-kill", 'k').sbatch(refused).srun(unset),
    flag("no-requeue").only(in_sbatch).sbatch(refused),
    flag("no-shell").only(in_salloc),
    valued("nodefile", 'F'),
    valued("nodelist", 'w'),
    valued("nodes", 'N').asks(&Ask::nodes, Form::nodes),
    valued("ntasks", 'n').asks(&Ask::ntasks).srun(kept),
    valued("ntasks-per-core").takes(Form::count).srun(inherited),
    valued("ntasks-per-gpu").asks(&Ask::ntasks_per_gpu).srun(inherited),
    valued("ntasks-per-node").asks(&Ask::ntasks_per_node).srun(unset),
    valued("ntasks-per-socket").asks(&Ask::ntasks_per_socket).becomes(extra).srun(inherited),
    valued("ntasks-per-tres").asks(&Ask::ntasks_per_gpu).srun(inherited),
    optional("oom-kill-step").srun(inherited).since(2411),
    valued("open-mode")
        .only(batch_and_step)
        .takes(Form::open_mode)
        .sbatch(refused)
        .srun(inherited)
        .becomes(dropped, output_is_ours),
    valued("output", 'o')
        .only(batch_and_step)
        .sbatch(refused)
        .srun(unset, "SLURM_STDOUTMODE")
        .becomes(dropped, output_is_ours),
    flag("overcommit", 'O').sbatch(refused).srun(inherited),
    optional("overlap").only(in_srun).srun(unset),
    flag("oversubscribe", 's'),
    valued("pack-group").only(in_srun).means("het-group"),
    flag("parsable").only(batch_and_step),
    valued("partition", 'p').key("partition").sbatch(adopted).srun(unset),
    valued("power").sbatch(adopted).srun(unset).until(2311),
    valued("prefer"),
    flag("preserve-env", 'E').only(in_srun),
    valued("priority"),
    valued("profile").sbatch(adopted).srun(inherited),
    valued("prolog").only(in_srun).srun(unset),
    optional("propagate").only(batch_and_step),
    optional("pty").only(in_srun),
    valued("qos", 'q').key("qos").sbatch(adopted).srun(unset),
    flag("quiet", 'Q'),
    flag("quit-on-interrupt").only(in_srun),
    flag("reboot"),
    valued("relative", 'r').only(in_srun),
    optional("requeue").only(in_sbatch).sbatch(refused),
    valued("reservation").key("reservation").sbatch(adopted).srun(unset),
    valued("resources").since(2511),
    optional("resv-ports").srun(unset),
    valued("segment")
        .sbatch(refused, "SBATCH_SEGMENT_SIZE")
        .srun(unset, "SRUN_SEGMENT_SIZE")
        .since(2405),
    optional("send-libs").only(in_srun).srun(unset),
    valued("signal")
        .takes(Form::signal)
        .sbatch(refused)
        .srun(unset)
        .becomes(dropped,
                 "write recovery: {signal: ..., grace_seconds: ...} if the ranks handle it"),
    valued("slurmd-debug").only(in_srun).srun(unset, "SLURMD_DEBUG"),
    valued("sockets-per-node")
        .asks(&Ask::sockets_per_node)
        .becomes(extra)
        .srun(unset, "SLURM_NSOCKETS_PER_NODE"),
    flag("spread-job").sbatch(refused).srun(unset),
    flag("spread-segments").sbatch(refused).srun(unset).since(2511),
    flag("stepmgr").since(2405),
    valued("switches").sbatch(adopted, "SBATCH_REQ_SWITCH"),
    valued("task-epilog").only(in_srun).srun(unset),
    valued("task-prolog").only(in_srun).srun(unset),
    valued("tasks-per-node").means("ntasks-per-node"),
    flag("test-only").only(batch_and_step),
    valued("thread-spec").sbatch(refused).srun(unset),
    valued("threads", 'T').only(in_srun).srun(unset),
    valued("threads-per-core")
        .asks(&Ask::threads_per_core)
        .becomes(extra)
        .sbatch(refused)
        .srun(inherited),
    valued("time", 't')
        .takes(Form::time)
        .key("time")
        .sbatch(adopted, "SBATCH_TIMELIMIT")
        .srun(unset, "SLURM_TIMELIMIT"),
    valued("time-min").takes(Form::time),
    valued("tmp").takes(Form::memory),
    valued("treewidth").only(in_srun).since(2311),
    valued("tres-bind").sbatch(refused).srun(inherited).since(2311).becomes(dropped, gpus_are_ours),
    valued("tres-per-task").becomes(counted).sbatch(refused).srun(inherited).since(2302),
    valued("uid"),
    flag("unbuffered", 'u').only(in_srun).srun(unset, "SLURM_UNBUFFEREDIO"),
    flag("usage"),
    flag("use-min-nodes").sbatch(refused).srun(unset),
    flag("verbose", 'v').srun(unset, "SLURM_DEBUG"),
    flag("version", 'V'),
    flag("wait", 'W').only(in_sbatch).sbatch(refused),
    valued("wait", 'W').only(in_srun).srun(unset),
    valued("wait-all-nodes").only(in_sbatch | in_salloc).sbatch(refused),
    flag("wait-for-children").only(in_srun).since(2505),
    valued("wckey").sbatch(adopted).srun(inherited),
    flag("whole").only(in_srun),
    valued("wrap").only(in_sbatch),
    optional("x11").only(in_srun | in_salloc),
    // Plugins common among sites: enroot/pyxis and EAR.
    flag("container-entrypoint").of_plugin(),
    flag("container-entrypoint-log").of_plugin(),
    valued("container-env").of_plugin(),
    valued("container-image").of_plugin(),
    flag("container-mount-home").of_plugin(),
    valued("container-mounts").of_plugin(),
    valued("container-name").of_plugin(),
    flag("container-readonly").of_plugin(),
    flag("container-remap-root").of_plugin(),
    valued("container-save").of_plugin(),
    valued("container-workdir").of_plugin(),
    flag("container-writable").of_plugin(),
    valued("ear").of_plugin(),
    valued("ear-cpufreq").of_plugin(),
    valued("ear-learning").of_plugin(),
    valued("ear-policy").of_plugin(),
    valued("ear-policy-th").of_plugin(),
    valued("ear-tag").of_plugin(),
    valued("ear-user-db").of_plugin(),
    valued("ear-verbose").of_plugin(),
    valued("edf").of_plugin(),
    valued("environment").of_plugin(),
    flag("no-container-entrypoint").of_plugin(),
    flag("no-container-mount-home").of_plugin(),
    flag("no-container-remap-root").of_plugin(),
};

/// Options that people write for those that there are.
constexpr std::pair<std::string_view, std::string_view> meant[] = {
    {"cores-per-task", "cpus-per-task"},
    {"threads-per-task", "cpus-per-task"},
    {"ncpus", "cpus-per-task"},
    {"ppn", "ntasks-per-node"},
    {"mem-per-task", "mem-per-cpu"},
    {"cpus-per-rank", "cpus-per-task"},
    {"gpus-per-rank", "gpus-per-task"},
    {"procs", "ntasks"},
    {"workdir", "chdir"},
    {"queue", "partition"},
    {"project", "account"},
    {"walltime", "time"},
    {"memory", "mem"},
    {"email", "mail-user"},
    {"name", "job-name"},
    {"share", "oversubscribe"},
    {"shared", "oversubscribe"},
    {"stdout", "output"},
    {"stderr", "error"},
};

constexpr ExclusiveOptions exclusive[] = {
    {"mem", "mem-per-cpu"},
    {"mem", "mem-per-gpu"},
    {"mem-per-cpu", "mem-per-gpu"},
    {"ntasks-per-gpu", "ntasks-per-node"},
    {"ntasks-per-gpu", "gpus-per-task"},
    {"ntasks-per-gpu", "gpus-per-socket"},
    {"ntasks-per-gpu", "tres-per-task", 2302},
    {"cpus-per-gpu", "cpus-per-task"},
    {"cpus-per-gpu", "tres-per-task", 2311},
    {"core-spec", "thread-spec"},
    {"gpus-per-node", "gres", 2605},
    {"exclusive", "oversubscribe", 2302},
    {"exclusive", "overlap"},
    {"exact", "whole"},
    {"bb", "bbf"},
    {"async", "pty", 2605},
    {"async", "immediate", 2605},
};

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// Whether every piece between separators is a number, and there are no more than `most`.
bool are_numbers(std::string_view text, char separator, std::size_t most) {
  const auto pieces = split_at(text, separator);
  return pieces.size() <= most && std::ranges::all_of(pieces, is_number);
}

std::string lower(std::string_view text) {
  std::string low(text);
  for (char& c : low) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return low;
}

bool is_time(std::string_view value) {
  const auto low = lower(value);
  if (low == "infinite" || low == "unlimited" || low == "-1") return true;
  const auto dash = value.find('-');
  if (dash == std::string_view::npos) return are_numbers(value, ':', 3);
  return is_number(value.substr(0, dash)) && are_numbers(value.substr(dash + 1), ':', 3);
}

bool is_signal(std::string_view value) {
  std::string low = lower(value);
  if (const auto colon = low.find(':'); colon != std::string::npos) {
    if (low.find_first_not_of("rb") < colon) return false;
    low = low.substr(colon + 1);
  }
  if (const auto at = low.find('@'); at != std::string::npos) {
    if (!is_number(std::string_view(low).substr(at + 1))) return false;
    low.resize(at);
  }
  if (low.starts_with("sig")) low = low.substr(3);
  constexpr std::array<std::string_view, 16> names = {
      "hup",  "int", "quit", "abrt", "kill", "alrm", "term", "usr1",
      "usr2", "urg", "cont", "stop", "tstp", "ttin", "ttou", "xcpu"};
  return is_number(low) || std::ranges::find(names, low) != names.end();
}

/// "2", "2-4", "1k"; "1,4-8" and "1-16:2" of newer versions.
bool is_node_count(std::string_view value) {
  const auto low = lower(value);
  return !low.empty() && low.find_first_not_of("0123456789km,:-") == std::string::npos &&
         low.find_first_of("0123456789") == 0;
}

/// "4", "a100:4", "a100:2,v100:1", "a100".
bool are_gpus(std::string_view value) {
  return std::ranges::all_of(split_at(value, ','), [](std::string_view item) {
    const auto colon = item.rfind(':');
    if (colon == 0 || item.empty()) return false;
    const bool type_only =
        colon == std::string_view::npos && std::isalpha(static_cast<unsigned char>(item[0])) != 0;
    return type_only || is_number(item.substr(colon + 1));
  });
}

std::string fault_of(OptionValue form, std::string_view value) {
  switch (form) {
    case Form::text:
      return "";
    case Form::count:
      return is_number(value) && value.size() < 10 &&
                     value.find_first_not_of('0') != std::string_view::npos
                 ? ""
                 : "is not a number above 0";
    case Form::nodes:
      return is_node_count(value) ? "" : "is not a number of nodes: N or MIN-MAX";
    case Form::time:
      return is_time(value) ? "" : "is not a time: MINUTES, HH:MM:SS, D-HH or D-HH:MM:SS";
    case Form::memory:
      return megabytes(value) >= 0 ? "" : "is not a size: megabytes, or a number with K, M, G or T";
    case Form::gpus:
      return are_gpus(value) ? "" : "is not a number of GPUs: N or TYPE:N";
    case Form::signal:
      return is_signal(value) ? "" : "is not a signal: [B:]USR2@SECONDS";
    case Form::open_mode: {
      const auto low = lower(value);
      const bool known = low == "append" || low == "truncate" || low == "a" || low == "t";
      return known ? "" : "is neither append nor truncate";
    }
  }
  return "";
}

const SlurmOption* find_letter(char letter, SlurmProgram program, int version) {
  for (const SlurmOption& option : table) {
    if (option.letter == letter && letter != '\0' && option.serves(program, version))
      return &option;
  }
  return nullptr;
}

std::string_view full_name(const SlurmOption& option) {
  return option.full.empty() ? option.name : option.full;
}

/// The only option of a version that begins so; null with `ambiguous`: there are several.
const SlurmOption* find_beginning(std::string_view typed, SlurmProgram program, int version,
                                  bool& ambiguous) {
  ambiguous = false;
  const SlurmOption* found = nullptr;
  for (const SlurmOption& option : table) {
    if (!option.serves(program, version) || !option.name.starts_with(typed)) continue;
    if (option.name == typed) {
      ambiguous = false;
      return &option;
    }
    ambiguous = ambiguous || (found != nullptr && full_name(*found) != full_name(option));
    found = &option;
  }
  return ambiguous ? nullptr : found;
}

/// getopt_long accepts any unambiguous prefix. An unknown version is one that accepts it.
const SlurmOption* find_abbreviation(std::string_view typed, SlurmProgram program, int version,
                                     bool& ambiguous) {
  const SlurmOption* found = find_beginning(typed, program, version, ambiguous);
  if (version != any_slurm || found != nullptr) return found;
  for (const int one : {2205, 2302, 2311, 2405, 2411, 2505, 2511, 2605}) {
    bool several = false;
    if (found == nullptr) found = find_beginning(typed, program, one, several);
  }
  return found;
}

/// Whether all masks of mask_gpu show the same GPUs, and not one alone: "0xf,0x0f", "0xff*8".
bool show_the_same(std::string_view masks) {
  std::string_view first;
  for (auto mask : split_at(masks, ',')) {
    mask = mask.substr(0, mask.find('*'));
    mask.remove_prefix(std::min(mask.size(), mask.find_first_not_of("0xX")));
    if (first.empty()) first = mask;
    if (mask.empty() || mask != first) return false;
  }
  const bool one_bit = first.find_last_not_of('0') == 0 &&
                       std::string_view("1248").find(first[0]) != std::string_view::npos;
  return !one_bit;
}

/// Parses words the way getopt_long does.
class OptionParser {
 public:
  OptionParser(std::span<const std::string_view> words, SlurmProgram program, int version)
      : words_(words), program_(program), version_(version) {}

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
      } else if (program_ != SlurmProgram::sbatch) {
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
    const SlurmOption* option = find_abbreviation(name, program_, version_, ambiguous);
    if (option == nullptr) {
      complain(ambiguous ? Complaint::ambiguous : Complaint::unknown, "--" + name);
      return;
    }
    ReadOption given;
    given.name = full_name(*option);
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
      const SlurmOption* option = find_letter(letter, program_, version_);
      if (option == nullptr) {
        complain(Complaint::unknown, std::string("-") + letter);
        return;
      }
      ReadOption given;
      given.name = full_name(*option);
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
  int version_;
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
    if (option.name == name && option.serves(program)) return &option;
  }
  return nullptr;
}

ReadOptions read_slurm_options(std::span<const std::string_view> words, SlurmProgram program,
                               int version) {
  return OptionParser(words, program, version).parse();
}

std::string_view value_of(const ReadOption& option, std::span<const std::string_view> words) {
  return option.has_value ? words[option.last_word].substr(option.value_at) : std::string_view();
}

std::string nearest_slurm_option(std::string_view typed, SlurmProgram program) {
  if (!typed.starts_with("--")) return "";
  std::string word(typed.substr(2));
  std::ranges::replace(word, '_', '-');
  for (const auto& [written, name] : meant)
    if (word == written && find_slurm_option(name, program)) return "--" + std::string(name);
  std::vector<std::string> names;
  for (const SlurmOption& option : table) {
    if (option.serves(program)) names.emplace_back(option.name);
  }
  const auto nearest = nearest_name(word, names);
  return nearest ? "--" + *nearest : "";
}

std::string fault_of_value(std::string_view option, std::string_view value) {
  const auto* known = std::ranges::find(table, option, &SlurmOption::name);
  return known == std::end(table) ? "" : fault_of(known->value, value);
}

std::span<const ExclusiveOptions> exclusive_options() {
  return exclusive;
}

bool excludes(const ExclusiveOptions& pair, std::string_view one_value,
              std::string_view other_value) {
  if (pair.other == "gres") return asks_for_gpus(other_value);
  if (pair.one == "cpus-per-gpu" && pair.other == "tres-per-task")
    return other_value.find("cpu") != std::string_view::npos;
  // Slurm takes these for shares of a node, which say nothing about a whole one.
  return pair.one != "exclusive" || pair.other == "overlap" || one_value.empty();
}

bool hides_gpus(std::string_view option, std::string_view value) {
  if (option == "gpus-per-task" || option == "ntasks-per-gpu") return true;
  if (option == "tres-per-task") return asks_for_gpus(value);
  if (option == "accel-bind")  // g, n and v, in any order
    return value.find('g') != std::string_view::npos;
  if (option == "tres-bind") {
    constexpr std::string_view gpus = "gres/gpu:";
    const auto at = value.find(gpus);
    if (at == std::string_view::npos) return false;
    value = value.substr(at + gpus.size());
  } else if (option != "gpu-bind") {
    return false;
  }
  for (const std::string_view prefix : {"verbose,", "v,", "quiet,", "q,"})
    if (value.starts_with(prefix)) value.remove_prefix(prefix.size());
  if (value.starts_with("mask")) return !show_the_same(value.substr(value.find(':') + 1));
  constexpr std::array<std::string_view, 4> hiding = {"single", "per_task", "closest", "map"};
  return std::ranges::any_of(hiding, [value](auto begin) { return value.starts_with(begin); });
}

}  // namespace dllaunch

#include "launcher/lint/bash/programs.hpp"

#include <algorithm>
#include <array>

#include "launcher/lint/bash/shell_tree.hpp"

namespace dllaunch::lint {
namespace {

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& known) {
  return std::ranges::find(known, word) != known.end();
}

constexpr std::array<std::string_view, 17> wrappers = {
    "exec",   "time",    "nohup",  "command",  "builtin",  "nice",
    "env",    "timeout", "stdbuf", "numactl",  "taskset",  "setsid",
    "ionice", "sudo",    "strace", "xvfb-run", "catchsegv"};

/// Whether a wrapper's option takes its value as a separate word.
bool takes_word(std::string_view wrapper, std::string_view option) {
  if (wrapper == "nice") return option == "-n";
  if (wrapper == "env") return option == "-u" || option == "-C";
  if (wrapper == "timeout") return option == "-s" || option == "-k";
  if (wrapper == "stdbuf") return option == "-o" || option == "-e" || option == "-i";
  if (wrapper == "numactl")
    return is_one_of<6>(option, {"-N", "-C", "-m", "-p", "-i", "-l"}) && option != "-l";
  if (wrapper == "ionice") return option == "-c" || option == "-n";
  if (wrapper == "exec") return option == "-a";
  if (wrapper == "strace") return option == "-o" || option == "-e";
  return false;
}

bool is_env_assignment(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && is_name(std::string_view(word).substr(0, equals));
}

/// The index after `dllaunch supervise --run-dir DIR --`; `begin` if it is not there.
std::size_t skip_supervisor(std::span<const Text> words, std::size_t begin) {
  const bool supervises = begin + 1 < words.size() && base_name(words[begin]) == "dllaunch" &&
                          words[begin + 1].bytes() == "supervise";
  if (!supervises) return begin;
  for (std::size_t i = begin + 2; i + 1 < words.size(); ++i) {
    if (words[i].bytes() == "--") return i + 1;
  }
  return begin;
}

}  // namespace

std::string base_name(const Text& word) {
  const std::string& bytes = word.bytes();
  // $(which srun), $(command -v srun)
  if (!word.known()) {
    if (word.marks().size() != 1 || bytes.size() != 1) {
      const std::size_t slash = bytes.rfind('/');
      const bool tail =
          slash != std::string::npos && bytes.find(Text::hole, slash) == std::string::npos;
      return tail ? bytes.substr(slash + 1) : "";
    }
    const std::string& name = word.marks()[0].name;
    for (const std::string_view prefix : {"$(which ", "$(command -v ", "`which "}) {
      if (name.starts_with(prefix) && name.size() > prefix.size() + 1)
        return name.substr(prefix.size(), name.size() - prefix.size() - 1);
    }
    return "";
  }
  const std::size_t slash = bytes.rfind('/');
  return slash == std::string::npos ? bytes : bytes.substr(slash + 1);
}

std::size_t skip_wrappers(std::span<const Text> words, std::size_t begin) {
  std::size_t i = begin;
  while (i < words.size()) {
    if (const auto after = skip_supervisor(words, i); after != i) {
      i = after;
      continue;
    }
    const std::string wrapper = base_name(words[i]);
    if (!is_one_of(wrapper, wrappers)) return i;
    ++i;
    while (i < words.size()) {
      const std::string& word = words[i].bytes();
      const bool option = word.size() > 1 && word[0] == '-';
      if (word == "--") {
        ++i;
        break;
      }
      if (option) {
        i += takes_word(wrapper, word) ? 2 : 1;
      } else if (wrapper == "env" && is_env_assignment(word)) {
        ++i;
      } else {
        break;
      }
    }
    const bool value = wrapper == "timeout" || wrapper == "taskset";
    if (value && i < words.size()) ++i;
  }
  return words.size();
}

bool is_mpirun(std::string_view program) {
  return is_one_of<6>(program,
                      {"mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prun", "prterun"});
}

bool is_launcher(std::string_view program) {
  return program == "srun" || is_mpirun(program) ||
         is_one_of<9>(program, {"torchrun", "accelerate", "deepspeed", "horovodrun", "jsrun",
                                "aprun", "ibrun", "parallel", "dllaunch"});
}

bool is_shell(std::string_view program) {
  return is_one_of<6>(program, {"bash", "sh", "dash", "ksh", "zsh", "ash"});
}

bool is_python(std::string_view program) {
  return program.starts_with("python");
}

bool starts_workers(std::span<const Text> words) {
  static constexpr std::array<std::string_view, 11> starters = {"torchrun",
                                                                "deepspeed",
                                                                "accelerate",
                                                                "horovodrun",
                                                                "torch.distributed.run",
                                                                "composer",
                                                                "parallel",
                                                                "colossalai",
                                                                "dllaunch",
                                                                "torch.distributed.launch",
                                                                "accelerate.commands.launch"};
  return std::ranges::any_of(words, [](const Text& word) {
    if (is_one_of(base_name(word), starters)) return true;
    // bash -c "torchrun ..."
    const std::string& text = word.bytes();
    return text.find("torchrun ") != std::string::npos ||
           text.find("torch.distributed.") != std::string::npos ||
           text.find("accelerate launch") != std::string::npos;
  });
}

bool hides_program(std::span<const Text> words) {
  const std::size_t program = skip_wrappers(words, 0);
  if (program >= words.size()) return false;
  const std::string name = base_name(words[program]);
  if (name.empty() || name.ends_with(".sh")) return true;
  if (is_shell(name)) return shell_text_index(words, program) == words.size();
  // singularity exec IMAGE $LAUNCHER train.py
  static constexpr std::array<std::string_view, 5> containers = {"singularity", "apptainer",
                                                                 "podman", "docker", "shifter"};
  const std::span<const Text> behind = words.subspan(program + 1);
  return is_one_of(name, containers) &&
         std::ranges::none_of(behind,
                              [](const Text& word) { return is_python(base_name(word)); }) &&
         std::ranges::any_of(behind, [](const Text& word) { return base_name(word).empty(); });
}

std::size_t shell_text_index(std::span<const Text> words, std::size_t begin) {
  if (begin >= words.size() || !is_shell(base_name(words[begin]))) return words.size();
  for (std::size_t i = begin + 1; i < words.size(); ++i) {
    const std::string& word = words[i].bytes();
    if (word.size() < 2 || word[0] != '-') return words.size();
    if (word[1] != '-' && word.find('c') != std::string::npos) return std::min(i + 1, words.size());
    if (word == "-o" || word == "--rcfile") ++i;
  }
  return words.size();
}

}  // namespace dllaunch::lint

// Which program a command starts in the end.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "launcher/lint/bash/text.hpp"

namespace dllaunch::lint {

/// "srun" of /usr/bin/srun; empty where it is not known.
std::string base_name(const Text& word);

/// The index of the first word that is no wrapper (exec, time, env A=b, timeout 60, numactl ...)
/// and no option of one.
std::size_t skip_wrappers(std::span<const Text> words, std::size_t begin);

/// Starts several processes, here or on other nodes: srun, mpirun, torchrun, ...
bool is_launcher(std::string_view program);
bool is_mpirun(std::string_view program);
bool is_shell(std::string_view program);
bool is_python(std::string_view program);

/// Whether the words start the workers of a node themselves: torchrun, python -m
/// torch.distributed.run, accelerate launch, deepspeed.
bool starts_workers(std::span<const Text> words);

/// Whether the script does not show what the words run in the end: the program is unknown, or a
/// shell script of its own file.
bool hides_program(std::span<const Text> words);

/// The text of `bash -c TEXT` (any order of options); the size of `words` where there is none.
std::size_t shell_text_index(std::span<const Text> words, std::size_t begin);

}  // namespace dllaunch::lint

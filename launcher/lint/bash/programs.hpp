// Which program a command finally starts.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "launcher/lint/bash/text.hpp"

namespace dllaunch::lint {

/// "srun" for /usr/bin/srun; empty if unknown.
std::string base_name(const Text& word);

/// The index of the first word that is neither a wrapper (exec, time, env A=b, timeout 60, numactl
/// ...) nor one of its options.
std::size_t skip_wrappers(std::span<const Text> words, std::size_t begin);

/// Whether the program starts several processes, here or on other nodes: srun, mpirun, torchrun,
/// ...
bool is_launcher(std::string_view program);
bool is_mpirun(std::string_view program);
bool is_shell(std::string_view program);
bool is_python(std::string_view program);

/// Whether the words start a node's workers themselves: torchrun, python -m torch.distributed.run,
/// accelerate launch, deepspeed.
bool starts_workers(std::span<const Text> words);

/// Whether the program they finally run cannot be seen: it is unknown, or a separate shell script.
bool hides_program(std::span<const Text> words);

/// The index of TEXT in `bash -c TEXT` (options in any order); the size of `words` if there is
/// none.
std::size_t shell_text_index(std::span<const Text> words, std::size_t begin);

}  // namespace dllaunch::lint

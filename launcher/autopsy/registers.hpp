// A thread's registers as debuggers number them. One source per kind of CPU.
#pragma once

#include <sys/user.h>

#include <cstdint>
#include <vector>

namespace dllaunch {

std::uint64_t stack_pointer_of(const user_regs_struct& registers);

std::uint64_t program_counter_of(const user_regs_struct& registers);

/// By their DWARF numbers, from 0 on.
std::vector<std::uint64_t> dwarf_registers_of(const user_regs_struct& registers);

}  // namespace dllaunch

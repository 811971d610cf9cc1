#include "launcher/autopsy/registers.hpp"

namespace dllaunch {

std::uint64_t stack_pointer_of(const user_regs_struct& registers) {
  return registers.rsp;
}

std::uint64_t program_counter_of(const user_regs_struct& registers) {
  return registers.rip;
}

/// System V ABI, AMD64 supplement, figure 3.36.
std::vector<std::uint64_t> dwarf_registers_of(const user_regs_struct& of) {
  return {of.rax, of.rdx, of.rcx, of.rbx, of.rsi, of.rdi, of.rbp, of.rsp, of.r8,
          of.r9,  of.r10, of.r11, of.r12, of.r13, of.r14, of.r15, of.rip};
}

}  // namespace dllaunch

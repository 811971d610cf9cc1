#include "launcher/autopsy/registers.hpp"

#include <iterator>

namespace dllaunch {

std::uint64_t stack_pointer_of(const user_regs_struct& registers) {
  return registers.sp;
}

std::uint64_t program_counter_of(const user_regs_struct& registers) {
  return registers.pc;
}

/// DWARF for the Arm 64-bit architecture, section 4.1: x0 to x30, then sp.
std::vector<std::uint64_t> dwarf_registers_of(const user_regs_struct& of) {
  std::vector<std::uint64_t> registers(std::begin(of.regs), std::end(of.regs));
  registers.push_back(of.sp);
  return registers;
}

}  // namespace dllaunch

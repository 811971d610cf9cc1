#include "launcher/cli/error_kinds.hpp"

#include <cstddef>
#include <iterator>

namespace dllaunch {
namespace {

constexpr Explanation kind_table[] = {
    {"bad_request", "The request is wrong (exit code 2).",
     "The command line, the job file or another file is wrong.", "Correct what the message names."},
    {"unsatisfiable", "The request is valid, but cannot be met here (exit code 3).",
     "This cluster or machine does not have what it asks for, or not enough of it.",
     "Ask for less, or for another partition; `dllaunch plan JOB.yaml --check` shows what fits."},
    {"unavailable", "Something that the command needs is missing or does not answer (exit code 3).",
     "A program is not installed, a file system is full, or a daemon or node does not answer.",
     "Install or start what the message names; `dllaunch info` shows what is found here."},
    {"timeout", "An answer took too long (exit code 3).",
     "Slurm's controller, a node or a file system is slow or hangs.",
     "Try again; `sinfo` and `scontrol ping` show whether Slurm answers."},
};
static_assert(std::size(kind_table) == static_cast<std::size_t>(ErrorKind::timeout) + 1);

}  // namespace

std::span<const Explanation> error_kinds() {
  return kind_table;
}

std::string_view to_string(ErrorKind kind) {
  return kind_table[static_cast<std::size_t>(kind)].id;
}

}  // namespace dllaunch

#include "launcher/slurm/partition.hpp"

#include <algorithm>

namespace dllaunch {

bool same_hardware(const NodeType& a, const NodeType& b) {
  return a.cpus == b.cpus && a.sockets == b.sockets && a.cores_per_socket == b.cores_per_socket &&
         a.threads_per_core == b.threads_per_core && a.memory_mib == b.memory_mib &&
         a.gpus == b.gpus && a.gpu_type == b.gpu_type && a.gpu_gres == b.gpu_gres;
}

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

bool AccessList::admits(const std::string& name) const {
  const auto lists = [&name](const std::vector<std::string>& names) {
    return std::any_of(names.begin(), names.end(),
                       [&name](const std::string& known) { return same_name(known, name); });
  };
  return (allowed.empty() || lists(allowed)) && !lists(denied);
}

}  // namespace dllaunch

#include "launcher/rank/node_number.hpp"

#include <algorithm>

#include "launcher/plan/start_command.hpp"
#include "launcher/slurm/host_list.hpp"

namespace dllaunch {

std::optional<NumberedNode> number_node(const RankEnv& rank, const EnvLookup& lookup,
                                        const std::vector<std::string>& names) {
  const auto text = lookup(node_order_variable).value_or("");
  const auto order = expand_hosts(text);
  if (!order || order->empty()) return std::nullopt;
  const auto nodes = static_cast<int>(order->size());
  if (rank.local_world_size * nodes != rank.world_size) return std::nullopt;
  // All ranks of a step read the same.
  const bool follows = lookup("SLURM_DISTRIBUTION").value_or("").starts_with("arbitrary");
  if (rank.launcher == "slurm" && !follows) return std::nullopt;
  const int own = rank.rank / rank.local_world_size;
  if (std::ranges::find(names, (*order)[static_cast<std::size_t>(own)]) == names.end())
    return std::nullopt;
  NumberedNode numbered{.node_rank = own, .nodes = nodes};
  if (rank.launcher == "slurm")
    numbered.variables = {{"SLURM_NODEID", std::to_string(own)}, {"SLURM_STEP_NODELIST", text}};
  return numbered;
}

}  // namespace dllaunch

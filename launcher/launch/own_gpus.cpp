#include "launcher/launch/own_gpus.hpp"

#include <string>
#include <utility>
#include <vector>

#include "launcher/rank/rank_shim.hpp"

namespace dllaunch {

std::optional<Topology> with_own_gpus(System& system, Topology node) {
  RankContext context{.node = std::move(node)};
  see_gpus([&](const std::string& name) { return system.environment(name); }, context);
  if (context.gpus_unknown) return std::nullopt;
  if (!context.some_gpus) return std::move(context.node);
  std::vector<Gpu> own;
  for (const int gpu : context.gpus)
    own.push_back(context.node.gpus[static_cast<std::size_t>(gpu)]);
  context.node.gpus = std::move(own);
  return std::move(context.node);
}

}  // namespace dllaunch

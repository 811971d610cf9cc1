#include "topology/network/ring_words.hpp"

#include "topology/network/network_order.hpp"

namespace dllaunch {

std::vector<LevelCrossings> level_crossings(const Network& network,
                                            const std::vector<std::string>& given,
                                            const std::vector<std::string>& ordered) {
  const auto before = ring_crossings(network, given);
  const auto after = ring_crossings(network, ordered);
  std::vector<LevelCrossings> levels;
  for (std::size_t level = 0; level < before.size(); ++level)
    levels.push_back({network.levels[level], before[level], after[level]});
  return levels;
}

std::string ring_words(const std::vector<LevelCrossings>& levels, std::size_t edges) {
  std::string words;
  for (const auto& [level, given, ordered] : levels) {
    if (given == 0) continue;
    const auto number = std::to_string(ordered);
    words += words.empty() ? number + " of " + std::to_string(edges) + " ring edges leave "
                           : ", " + number + " leave ";
    words += level + " (" + std::to_string(given) + " in Slurm's order)";
  }
  return words;
}

}  // namespace dllaunch

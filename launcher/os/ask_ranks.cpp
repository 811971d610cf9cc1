#include "launcher/os/ask_ranks.hpp"

#include <algorithm>
#include <csignal>
#include <optional>

#include "launcher/os/descendants.hpp"

namespace dllaunch {
namespace {

/// Returns the rank of a process that a shim has become, or that such a one has started.
std::optional<std::string> rank_of(pid_t pid, const AskRanks::Variables& marks) {
  for (const auto& [name, value] : marks)
    if (variable_of(pid, name) != value) return std::nullopt;
  auto rank = variable_of(pid, "OMPI_COMM_WORLD_RANK");
  return rank ? rank : variable_of(pid, "RANK");
}

/// Returns the processes of each rank. What is below a rank's first process belongs to it with any
/// environment: a container may have none of ours, torchrun's workers have other numbers.
AskRanks::Ranks ranks_here(const AskRanks::Variables& marks, pid_t starter) {
  auto all = processes_here();
  std::erase_if(all, &Descendant::zombie);
  std::map<pid_t, std::string> marked;
  for (const auto& process : all) {
    if (process.pid == starter) continue;
    if (auto rank = rank_of(process.pid, marks)) marked.emplace(process.pid, *std::move(rank));
  }
  AskRanks::Ranks ranks;
  for (const auto& process : all) {
    const auto found = marked.find(process.pid);
    if (found == marked.end() || marked.contains(process.parent)) continue;
    auto& pids = ranks[found->second];
    pids.push_back(process.pid);
    for (const auto& below : descendants_of(process.pid, all)) pids.push_back(below.pid);
  }
  return ranks;
}

}  // namespace

AskRanks::AskRanks(Variables marks, int signal, pid_t starter)
    : marks_(std::move(marks)), signal_(signal), starter_(starter) {}

std::vector<std::string> AskRanks::look(bool last) {
  std::vector<std::string> asked;
  without_handler_.clear();
  for (auto& [rank, pids] : ranks_here(marks_, starter_)) {
    if (asked_.contains(rank)) continue;
    const bool any = std::ranges::any_of(pids, [this](pid_t pid) { return acts_on(pid, signal_); });
    const auto is_asked = [&](pid_t pid) {
      const bool acts = any ? acts_on(pid, signal_) : last && catches(pid, signal_);
      return acts && kill(pid, signal_) == 0;
    };
    std::vector<pid_t> others;
    for (const pid_t pid : pids)
      if (!is_asked(pid)) others.push_back(pid);
    if (others.size() == pids.size()) {
      without_handler_.emplace(rank, std::move(others));
      continue;
    }
    would_end_others_ |=
        std::ranges::any_of(others, [this](pid_t pid) { return !ignores(pid, signal_); });
    asked_.insert(rank);
    asked.push_back(rank);
  }
  return asked;
}

}  // namespace dllaunch

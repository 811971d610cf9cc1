// Numbers the nodes of each start of a run along the network.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/run/journal.hpp"
#include "launcher/supervise/supervised_run.hpp"
#include "topology/network/network.hpp"

namespace dllaunch {

class NodeNumberer {
 public:
  NodeNumberer(System& system, const SupervisedRun& run) : system_(system), run_(run) {}

  /// The run's last start, from its journal.
  void remember(const Journal& journal);
  /// The nodes of the last start in this allocation, in their order; empty: none is known.
  const std::vector<std::string>& before() const { return before_; }
  /// The network, if the run's nodes are numbered along one: asked for once. nullptr: unknown.
  const Network* network();

  /// Makes `here` number its nodes; returns the journal's line. nullopt: they stay as the starter
  /// numbers them.
  std::optional<JournalNodes> number(SupervisedRun& here);

 private:
  std::optional<JournalNodes> choose(const std::vector<std::string>& given);
  void say_once(const std::string& why);

  System& system_;
  const SupervisedRun& run_;
  std::optional<Network> network_ = {};
  std::vector<std::string> before_ = {};
  bool said_ = false;
};

}  // namespace dllaunch

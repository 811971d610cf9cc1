// How the components of a modular job find each other: variables of all ranks of all components.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "launcher/os/system.hpp"
#include "launcher/plan/run_outline.hpp"
#include "support/result.hpp"

namespace dllaunch {

/// Where a component runs.
struct ComponentPlace {
  std::string name = {};
  std::vector<std::string> hosts = {};  // as others reach them; the first has its rank 0
  int ranks = 1;
  int port = 0;  // the first of 64
};

/// A port for each of `count` components: below Linux's ephemeral ports, apart by 64, and others
/// for each start that `start` names. Nothing holds them.
std::vector<int> component_ports(std::string_view start, std::size_t count);

/// In this heterogeneous job, from the variables of its script. bad_request: they do not say it.
Result<std::vector<ComponentPlace>> places_in_job(System& system, const RunOutline& whole);
/// On this machine.
std::vector<ComponentPlace> places_here(const RunOutline& whole, std::string_view start);

/// DLLAUNCH_COMPONENT, the own name; DLLAUNCH_COMPONENTS, all names; and of each component
/// DLLAUNCH_COMPONENT_NAME_HOSTS, _NODES, _RANKS, _ADDRESS and _PORT. Lists have commas.
std::vector<std::pair<std::string, std::string>> component_variables(
    const std::vector<ComponentPlace>& places, const std::string& own);

}  // namespace dllaunch

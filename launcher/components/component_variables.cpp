#include "launcher/components/component_variables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>

#include "launcher/job/components.hpp"
#include "launcher/slurm/host_list.hpp"
#include "support/random.hpp"

namespace dllaunch {

std::vector<int> component_ports(std::string_view start, std::size_t count) {
  constexpr int first = 16384;
  constexpr int spread = 7000;
  const int base = first + static_cast<int>(stable_hash(start) % spread);
  std::vector<int> ports;
  // 128 components end at 31,575; ephemeral ports begin at 32,768.
  for (std::size_t i = 0; i < count; ++i)
    ports.push_back(base + ports_of_component * static_cast<int>(i));
  return ports;
}

Result<std::vector<ComponentPlace>> places_in_job(System& system, const RunOutline& whole) {
  const auto start = system.environment("SLURM_JOB_ID").value_or("") + "/" +
                     system.environment("SLURM_RESTART_COUNT").value_or("0");
  const auto ports = component_ports(start, whole.components.size());
  std::vector<ComponentPlace> places;
  for (std::size_t i = 0; i < whole.components.size(); ++i) {
    const auto& component = whole.components[i];
    const auto variable = fmt::format("SLURM_JOB_NODELIST_HET_GROUP_{}", i);
    auto hosts = expand_hosts(system.environment(variable).value_or(""));
    if (!hosts || hosts->empty())
      return Error{ErrorKind::bad_request,
                   fmt::format("{} does not name the nodes of component {}: this is no "
                               "heterogeneous job with {} components",
                               variable, component.name, whole.components.size()),
                   "submit the script as `dllaunch script` prints it"};
    for (auto& host : *hosts) host += component.host_suffix;
    places.push_back({component.name, *std::move(hosts), component.ranks(), ports[i]});
  }
  return places;
}

std::vector<ComponentPlace> places_here(const RunOutline& whole, std::string_view start) {
  const auto ports = component_ports(start, whole.components.size());
  std::vector<ComponentPlace> places;
  for (std::size_t i = 0; i < whole.components.size(); ++i)
    places.push_back(
        {whole.components[i].name, {"127.0.0.1"}, whole.components[i].ranks(), ports[i]});
  return places;
}

std::vector<std::pair<std::string, std::string>> component_variables(
    const std::vector<ComponentPlace>& places, const std::string& own) {
  std::vector<std::string> names;
  for (const auto& place : places) names.push_back(place.name);
  std::vector<std::pair<std::string, std::string>> all = {
      {"DLLAUNCH_COMPONENT", own},
      {"DLLAUNCH_COMPONENTS", fmt::format("{}", fmt::join(names, ","))}};
  for (const auto& [name, hosts, ranks, port] : places) {
    const auto add = [&all, word = variable_word(name)](std::string variable, std::string value) {
      constexpr std::string_view mark = "NAME";
      variable.replace(variable.find(mark), mark.size(), word);
      all.emplace_back(std::move(variable), std::move(value));
    };
    add("DLLAUNCH_COMPONENT_NAME_HOSTS", fmt::format("{}", fmt::join(hosts, ",")));
    add("DLLAUNCH_COMPONENT_NAME_NODES", std::to_string(hosts.size()));
    add("DLLAUNCH_COMPONENT_NAME_RANKS", std::to_string(ranks));
    add("DLLAUNCH_COMPONENT_NAME_ADDRESS", hosts.empty() ? "" : hosts.front());
    add("DLLAUNCH_COMPONENT_NAME_PORT", std::to_string(port));
  }
  return all;
}

}  // namespace dllaunch

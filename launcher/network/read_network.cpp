#include "launcher/network/read_network.hpp"

#include <algorithm>

#include "launcher/config/schema_walk.hpp"
#include "launcher/config/yaml_tree.hpp"
#include "launcher/network/ibnetdiscover.hpp"
#include "launcher/network/network_draft.hpp"
#include "launcher/network/profile_network.hpp"
#include "launcher/network/slurm_topology.hpp"
#include "launcher/network/topology_address.hpp"
#include "launcher/network/topology_yaml.hpp"

namespace dllaunch {
namespace {

Error not_a_network(const std::string& source, const std::string& why) {
  return {
      ErrorKind::bad_request, source + ": " + why,
      "give topology.conf, topology.yaml, the output of scontrol show topology or ibnetdiscover, "
      "or a cluster profile with network:"};
}

Result<Network> read_profile(const YamlNode& root, const std::string& source) {
  const auto entry = std::ranges::find(root.entries, "network", &YamlEntry::key);
  if (entry == root.entries.end()) return not_a_network(source, "not a description of a network");
  SchemaWalk walk("a cluster profile");
  const Json block = walk.complete(profile_network_schema(), *entry->value);
  const auto problems = std::move(walk).problems();
  if (problems.empty()) return network_of_profile(block, source);
  return not_a_network(source, "line " + std::to_string(problems.front().mark.line) + ": " +
                                   plain_name(problems.front().message));
}

}  // namespace

Result<Network> read_network(std::string_view text, const std::string& source) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  if (text.find_first_not_of(" \t\r\n") == text.npos) return not_a_network(source, "it is empty");
  if (is_ibnetdiscover(text)) return read_ibnetdiscover(text, source);
  if (is_slurm_topology(text)) return read_slurm_topology(text, source);
  if (is_topology_addresses(text))
    return network_of_addresses(parse_topology_addresses(text), source);
  const auto document = parse_yaml(text, 0);
  if (document.problem) return not_a_network(source, "not a description of a network");
  if (is_topology_yaml(*document.root)) return read_topology_yaml(*document.root, source);
  return read_profile(*document.root, source);
}

}  // namespace dllaunch

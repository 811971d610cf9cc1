#include "launcher/probe/probe_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "launcher/base/nearest_name.hpp"
#include "launcher/base/shell_quote.hpp"
#include "launcher/cluster/probed_node.hpp"
#include "launcher/slurm/host_list.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

constexpr std::string_view mark = "dllaunch-probe: ";

Error no_such_partition(const std::string& name, const SlurmFacts& slurm) {
  std::vector<std::string> known;
  for (const auto& partition : slurm.partitions) known.push_back(partition.name);
  const auto nearest = nearest_name(name, known);
  return {ErrorKind::unsatisfiable, fmt::format("no partition '{}'", name),
          nearest ? "use " + *nearest : fmt::format("use one of: {}", fmt::join(known, " "))};
}

std::vector<std::string> hosts_of_other_kinds(const Partition& partition, const NodeType& type) {
  std::vector<std::string> others;
  for (const auto& other : partition.node_types)
    if (!same_description(other, type))
      others.insert(others.end(), other.hosts.begin(), other.hosts.end());
  return others;
}

void add_hosts(const std::vector<std::string>& more, std::vector<std::string>& hosts) {
  const std::set<std::string> known(hosts.begin(), hosts.end());
  for (const auto& host : more)
    if (!known.contains(host)) hosts.push_back(host);
}

void add_partition(const Partition& partition, std::vector<ProbeTarget>& targets) {
  for (const auto& type : partition.node_types) {
    if (type.hosts.empty()) continue;
    auto target = std::find_if(targets.begin(), targets.end(), [&](const ProbeTarget& known) {
      return same_description(known.type, type);
    });
    if (target == targets.end())
      target = targets.insert(targets.end(), {.type = type, .places = {}});
    else
      add_hosts(type.hosts, target->type.hosts);
    target->places.push_back(
        {.partition = partition.name, .others = hosts_of_other_kinds(partition, type)});
  }
}

}  // namespace

Result<std::vector<ProbeTarget>> probe_targets(const SlurmFacts& slurm,
                                               const std::string& partition) {
  std::vector<ProbeTarget> targets;
  bool found = false;
  // The default partition first: most accounts may use it.
  for (const bool is_default : {true, false}) {
    for (const auto& candidate : slurm.partitions) {
      if (candidate.is_default != is_default) continue;
      if (partition.empty() ? !candidate.up : candidate.name != partition) continue;
      found = true;
      add_partition(candidate, targets);
    }
  }
  if (!found && !partition.empty()) return no_such_partition(partition, slurm);
  if (targets.empty())
    return Error{ErrorKind::unsatisfiable,
                 partition.empty() ? "no partition that accepts jobs has a node"
                                   : fmt::format("partition {} has no node", partition),
                 "`sinfo` lists partitions and nodes"};
  return targets;
}

std::string render_probe_script(const ProbeTarget& target, const ProbePlace& place,
                                const ProbeOptions& options, const std::string& program,
                                const std::string& output) {
  std::string text = "#!/bin/bash\n";
  const auto add = [&text](std::string_view option, const std::string& value) {
    if (!value.empty()) text += fmt::format("#SBATCH {}={}\n", option, sbatch_quote(value));
  };
  add("--job-name", "dllaunch-probe");
  add("--partition", place.partition);
  add("--nodes", "1");
  add("--ntasks", "1");
  add("--time", "2");
  if (target.type.gpus > 0) add("--gpus-per-node", std::to_string(target.type.gpus));
  add("--exclude", place.others.empty() ? "" : compress_hosts(place.others));
  add("--account", options.account);
  add("--qos", options.qos);
  add("--reservation", options.reservation);
  add("--output", escape_file_pattern(output));
  text += "#SBATCH --exclusive\n#SBATCH --no-requeue\n\n";
  // hwloc variables of the user's shell describe another machine.
  text += "unset \"${!HWLOC_@}\"\n";
  text += fmt::format("exec {} probe --capture\n", shell_quote(program));
  return text;
}

std::string render_capture(const Capture& capture) {
  auto node = capture.node;
  // Inside the job Slurm's CPU count is unknown; a record without CPUs would be invalid.
  if (node.type.cpus == 0) node.type.cpus = std::max(1, node.topology.present_cpus.size());
  const Json document = {{"node", to_json(node)}, {"xml", capture.xml}};
  return std::string(mark) +
         document.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

namespace {

/// The first mark of the last line that has one: a string of the record may hold the words too.
std::size_t mark_of_last_capture(std::string_view output) {
  const auto last = output.rfind(mark);
  if (last == std::string_view::npos) return last;
  const auto line_break = output.rfind('\n', last);
  return output.find(mark, line_break == std::string_view::npos ? 0 : line_break + 1);
}

}  // namespace

Result<Capture> find_capture(std::string_view output) {
  const auto begin = mark_of_last_capture(output);
  const auto end = begin == std::string_view::npos ? begin : output.find('\n', begin);
  if (end == std::string_view::npos)
    return Error{ErrorKind::unavailable, "the job's output holds no capture", ""};
  const auto document =
      Json::parse(output.substr(begin + mark.size(), end - begin - mark.size()), nullptr,
                  /*allow_exceptions=*/false);
  const bool whole = document.is_object() && document.contains("node") &&
                     document.contains("xml") && document["xml"].is_string();
  if (!whole) return Error{ErrorKind::bad_request, "the job's capture is damaged", ""};
  auto node = probed_node_from_json(document["node"]);
  if (!node) return std::move(node).error().within("the job's capture");
  return Capture{.node = *std::move(node), .xml = document["xml"].get<std::string>()};
}

}  // namespace dllaunch

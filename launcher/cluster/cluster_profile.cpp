#include "launcher/cluster/cluster_profile.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "launcher/base/nearest_name.hpp"
#include "launcher/base/time_span.hpp"
#include "launcher/cluster/profile_topology.hpp"
#include "launcher/config/key_names.hpp"
#include "launcher/config/schema_walk.hpp"
#include "launcher/config/yaml_tree.hpp"
#include "launcher/network/profile_network.hpp"
#include "launcher/slurm/scontrol_parser.hpp"
#include "support/json.hpp"

namespace dllaunch {
namespace {

using Steps = std::vector<std::string>;
using Pairs = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t most_problems = 50;
/// Across all node types: each node is a topology, built at every start.
constexpr std::size_t most_node_types = 50;

const YamlNode* child(const YamlNode& node, const std::string& key) {
  const auto found = std::ranges::find(node.entries, key, &YamlEntry::key);
  return found == node.entries.end() ? nullptr : found->value.get();
}

/// The position of the value at `steps`; if it is missing, of the nearest enclosing block.
Mark mark_of(const YamlNode& root, const Steps& steps) {
  const YamlNode* at = &root;
  for (const auto& step : steps) {
    const YamlNode* next = nullptr;
    if (at->kind == YamlKind::sequence) {
      const auto index = static_cast<std::size_t>(std::stoul(step));
      if (index < at->items.size()) next = at->items[index].get();
    } else {
      next = child(*at, step);
    }
    if (next == nullptr) return at->mark;
    at = next;
  }
  return at->mark;
}

/// "partitions[2].node".
std::string words_of_path(const Steps& steps) {
  std::string text;
  for (const auto& step : steps) {
    const bool index = std::ranges::all_of(step, [](char c) { return c >= '0' && c <= '9'; });
    text += index ? "[" + step + "]" : (text.empty() ? "" : ".") + step;
  }
  return text;
}

/// Reads a profile that fits the schema, and checks what the schema cannot express.
class Reader {
 public:
  Reader(const YamlNode& root, const Json& document, const std::string& file)
      : root_(root), document_(document) {
    profile_.file = file;
  }

  std::vector<YamlProblem> problems() && { return std::move(problems_); }

  ClusterProfile read() {
    profile_.name = document_["name"];
    if (profile_.name == "auto") report({"name"}, "'auto' is the word for no name");
    profile_.title = document_["title"];
    profile_.scheduler = document_["scheduler"];
    profile_.start = document_["start"];
    const Json& recognise = document_["recognise"];
    profile_.recognise = {.clusters = recognise["clusters"],
                          .hosts = recognise["hosts"],
                          .partitions = recognise["partitions"]};
    read_nodes();
    read_partitions();
    profile_.cpus_are_cores = document_["cpus_are"] == "cores";
    profile_.modules = texts("modules");
    for (const auto& [framework, modules] : document_["suggested_modules"].items())
      profile_.suggested_modules.emplace_back(framework, modules);
    profile_.variables = pairs("variables");
    profile_.node_folders = pairs("node_folders");
    profile_.mpi = document_["mpi"];
    profile_.host_suffix = document_["host_suffix"];
    profile_.container = {.runtime = document_["container"]["runtime"],
                          .mounts = document_["container"]["mounts"]};
    profile_.sbatch_extra = texts("sbatch_extra");
    profile_.srun_extra = texts("srun_extra");
    profile_.node_book = document_["node_book"];
    profile_.network_block = document_["network"];
    profile_.network = network_of_profile(document_["network"], "the profile of " + profile_.name);
    read_failures();
    profile_.unverified = pairs("unverified");
    check_folders();
    return std::move(profile_);
  }

 private:
  void report(const Steps& steps, const std::string& message) {
    problems_.push_back(
        {mark_of(root_, steps), fmt::format("{}: {}", words_of_path(steps), message)});
  }

  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> all;
    for (const Json& item : document_[key]) all.push_back(item.get<std::string>());
    return all;
  }

  Pairs pairs(const char* key) const {
    Pairs all;
    for (const auto& [name, value] : document_[key].items())
      all.emplace_back(name, value.get<std::string>());
    return all;
  }

  double span_of(const char* key) {
    const auto seconds = seconds_in(document_["failures"][key].get<std::string>());
    if (!seconds) report({"failures", key}, "more than a million days");
    return seconds.value_or(1);
  }

  void read_failures() {
    const Json& known = document_["failures"];
    if (known["node_mtbf"].is_null()) {
      if (child(root_, "failures") != nullptr) report({"failures"}, "node_mtbf is missing");
      return;
    }
    auto& failures = profile_.failures;
    failures = {.node_mtbf_s = span_of("node_mtbf"), .uneven = known["uneven"]};
    if (!known["repair"].is_null()) failures->repair_s = span_of("repair");
    if (failures->node_mtbf_s < least_node_mtbf_s)
      report({"failures", "node_mtbf"}, "a node that fails more than once an hour; write 300d");
    else if (failures->repair_s > failures->node_mtbf_s)
      report({"failures", "repair"}, "longer than node_mtbf: most nodes would be out");
  }

  void read_nodes() {
    const Json& types = document_["node_types"];
    if (types.size() > most_node_types)
      return report({"node_types"}, fmt::format("more than {}", most_node_types));
    for (const auto& [name, shape] : types.items()) {
      const std::string source = "profile " + profile_.name + ", " + name + " node";
      auto made = shape_node(shape, source);
      if (!made.problem.empty()) {
        Steps steps = {"node_types", name};
        steps.insert(steps.end(), made.place.begin(), made.place.end());
        report(steps, made.problem);
        continue;
      }
      profile_.nodes.push_back(
          {.name = name,
           .gpu_type = shape["gpu_type"],
           .features = shape["features"],
           .constraint = shape["constraint"],
           .reserve = shape["reserve"],
           .verified = !document_["unverified"].contains("node_types." + name),
           .assumed = shape["assumed"],
           .packages = shape["packages"],
           .cores_per_package =
               shape["numa"].get<int>() * shape["l3"].get<int>() * shape["cores"].get<int>(),
           .threads_per_core = shape["threads"],
           .topology = std::move(made.topology)});
    }
  }

  void read_partitions() {
    std::vector<std::string> nodes;
    for (const auto& [name, shape] : document_["node_types"].items()) nodes.push_back(name);
    std::set<std::string> seen;
    bool any_default = false;
    for (const Json& item : document_["partitions"]) {
      const auto index = std::to_string(profile_.partitions.size());
      const auto place = [&index](const char* key) { return Steps{"partitions", index, key}; };
      ProfilePartition partition{.name = item["name"],
                                 .node = item["node"],
                                 .nodes = item["nodes"],
                                 .is_default = item["default"],
                                 .max_minutes = {},
                                 .by_constraint = item["by_constraint"]};
      if (!seen.insert(partition.name).second)
        report(place("name"), fmt::format("'{}' is given twice", partition.name));
      if (std::ranges::find(nodes, partition.node) == nodes.end())
        report(place("node"), unknown_node(partition.node, nodes));
      if (partition.is_default && std::exchange(any_default, true))
        report(place("default"), "only one partition can be the default");
      check_constraint(partition, place("by_constraint"));
      if (item["max_time"].is_string()) {
        partition.max_minutes = parse_slurm_minutes(item["max_time"].get<std::string>());
        if (!partition.max_minutes) report(place("max_time"), "not a time; write it as 2-00:00:00");
      }
      profile_.partitions.push_back(std::move(partition));
    }
  }

  void check_constraint(const ProfilePartition& partition, const Steps& place) {
    const auto node = std::ranges::find_if(profile_.nodes,
                                           [&](const auto& n) { return n.name == partition.node; });
    if (partition.by_constraint && node != profile_.nodes.end() && node->constraint.empty())
      report(place, fmt::format("node type '{}' has no constraint", partition.node));
  }

  static std::string unknown_node(const std::string& name, const std::vector<std::string>& known) {
    auto text = fmt::format("no node type '{}' under node_types", name);
    if (const auto near = nearest_name(name, known))
      text += fmt::format("; did you mean '{}'?", *near);
    return text;
  }

  /// The shim creates these folders: allow only folders that are node-local by convention.
  void check_folders() {
    for (const auto& [name, path] : profile_.node_folders) {
      if (!path.starts_with('/') || path.find("/..") != std::string::npos)
        report({"node_folders", name}, "an absolute path on the node's own disk is needed");
      if (path.find("{user}") == std::string::npos)
        report({"node_folders", name}, "put {user} into it: others use this node too");
    }
  }

  const YamlNode& root_;
  const Json& document_;
  ClusterProfile profile_;
  std::vector<YamlProblem> problems_;
};

ParsedProfile failed(std::vector<YamlProblem> problems, const std::string& file,
                     std::string_view text) {
  const auto lines = lines_of(text);
  ParsedProfile parsed;
  std::ranges::stable_sort(problems, [](const auto& a, const auto& b) {
    return std::pair(a.mark.line, a.mark.column) < std::pair(b.mark.line, b.mark.column);
  });
  if (problems.size() > most_problems) {
    problems[most_problems - 1].message +=
        fmt::format(" (and {} more errors)", problems.size() - most_problems);
    problems.resize(most_problems);
  }
  for (YamlProblem& problem : problems)
    parsed.problems.push_back(
        {.file = file,
         .line = problem.mark.line,
         .column = problem.mark.column,
         .message = std::move(problem.message),
         .source = std::string(lines[static_cast<std::size_t>(problem.mark.line) - 1])});
  return parsed;
}

}  // namespace

bool ClusterProfile::any_cluster() const {
  return !nodes.empty() && std::ranges::all_of(nodes, &ProfileNode::assumed);
}

ParsedProfile parse_cluster_profile(std::string_view text, const std::string& file) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  const auto document = parse_yaml(text, 0);
  if (document.problem) return failed({*document.problem}, file, text);
  if (document.root->kind == YamlKind::null)
    return failed({{{}, "the file is empty; a cluster profile needs 'name:'"}}, file, text);
  auto wrong = correct_keys(cluster_profile_schema(), *document.root);
  SchemaWalk walk("a cluster profile");
  const Json resolved = walk.complete(cluster_profile_schema(), *document.root);
  for (YamlProblem& problem : std::move(walk).problems()) wrong.push_back(std::move(problem));
  if (!wrong.empty()) return failed(std::move(wrong), file, text);
  Reader reader(*document.root, resolved, file);
  auto profile = reader.read();
  auto problems = std::move(reader).problems();
  if (!problems.empty()) return failed(std::move(problems), file, text);
  profile.text = text;
  return {std::move(profile), {}};
}

}  // namespace dllaunch

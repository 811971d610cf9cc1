// What this build contains and what it finds here.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "launcher/base/version.hpp"
#include "launcher/cli/command.hpp"
#include "launcher/cli/command_options.hpp"
#include "launcher/cli/commands/mpi/mpi_modules.hpp"
#include "launcher/cluster/cluster_catalog.hpp"
#include "launcher/job/train_schema.hpp"
#include "launcher/launch/prepare_job.hpp"
#include "launcher/network/slurm_network.hpp"
#include "launcher/os/program_version.hpp"
#include "launcher/os/stored_json.hpp"
#include "launcher/plan/program_paths.hpp"
#include "support/counted.hpp"
#include "support/json.hpp"
#include "topology/network/natural_order.hpp"
#include "topology/network/network_order.hpp"
#include "topology/network/ring_words.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view info_examples =
    R"(  dllaunch info           backends, communicators, Slurm and MPI, and why one is missing
  dllaunch info --json    the same for a bug report
  dllaunch info --facts > cluster.json    for `dllaunch plan --facts` on another machine
  dllaunch info --cluster lumi-g          that cluster's profile, as a file to edit
)";

bool has_gpu(const Json& gpus, const char* library) {
  return gpus.contains(library) && gpus[library].value("gpus", 0) > 0;
}

/// The trainer's schema lists the backends in its build; some need a GPU of one vendor.
Json backends_of_trainer(const Json& gpus) {
  const Json& train = train_schema();
  const Json* names = train.at_path({"properties", "backend", "enum"});
  Json backends = Json::object();
  for (const Json& word : names != nullptr ? *names : Json()) {
    if (word == "auto") continue;
    backends[word.get<std::string>()] = {{"built", true}, {"usable", true}};
  }
  for (const auto& [name, library] : {std::pair("cuda", "NVML"), std::pair("hip", "ROCm SMI")}) {
    if (!backends.contains(name) || has_gpu(gpus, library)) continue;
    backends[name] = {{"built", true}, {"usable", false}, {"why", "no GPU here"}};
  }
  for (const char* name : {"onednn", "cuda", "hip"}) {
    if (backends.contains(name)) continue;
    backends[name] = {{"built", false}, {"usable", false}, {"why", "not in this build"}};
  }
  return backends;
}

/// The module beside the trainer; it needs a GPU of its vendor.
Json nccl_module(System& system, const Json& gpus) {
  const auto paths = program_paths("");
  const std::string folder = paths ? paths->dltrain.substr(0, paths->dltrain.rfind('/')) : "";
  for (const auto& [file, library] :
       {std::pair("libdltrain_nccl.so", "NVML"), std::pair("libdltrain_rccl.so", "ROCm SMI")}) {
    if (!system.look_at(folder + "/" + file).exists) continue;
    const bool usable = has_gpu(gpus, library);
    Json entry = {{"built", true}, {"usable", usable}};
    if (!usable) entry["why"] = "no GPU here";
    return entry;
  }
  return {{"built", false}, {"usable", false}, {"why", "not in this build"}};
}

/// Ways for ranks to exchange messages. `modules`: mpi_modules().
Json transports(const Json& modules) {
  const bool built = !modules.empty();
  const bool usable = built && !modules[0].contains("problem");
  Json mpi = {{"built", built}, {"usable", usable}};
  if (!built) mpi["why"] = "no MPI module; dllaunch build-mpi-module";
  if (built && !usable) mpi["why"] = modules[0]["problem"];
  return {{"tcp", {{"built", true}, {"usable", true}}}, {"mpi", std::move(mpi)}};
}

Json communicators(System& system, const Json& mpi, const Json& gpus) {
  const Json usable = {{"built", true}, {"usable", true}};
  return {{"solo", usable},         {"nccl", nccl_module(system, gpus)},
          {"hierarchical", usable}, {"mpi", mpi},
          {"ring", usable},         {"parameter-server", usable}};
}

/// NVML and ROCm SMI, for GPU names, links and partitions, which hwloc lacks.
Json gpu_libraries(System& system) {
  Json libraries = Json::object();
  for (const VendorLibrary& library : system.gpu_libraries()) {
    Json entry = {{"found", library.found}, {"usable", library.found && library.why.empty()}};
    if (!library.driver.empty()) entry["driver"] = library.driver;
    if (!library.gpus.empty()) entry["gpus"] = library.gpus.size();
    if (!library.why.empty()) entry["why"] = library.why;
    libraries[library.name] = std::move(entry);
  }
  return libraries;
}

/// Returns how this dllaunch was installed: what its installer wrote ("deb", "bundle", "wheel"),
/// else "source".
std::string how_installed(System& system) {
  const auto paths = program_paths("");
  if (!paths) return "source";
  const auto prefix = fs::path(paths->dllaunch).parent_path() / "../..";
  const auto word = system.read_file((prefix / "share/dllaunch/install").lexically_normal());
  return word ? word->substr(0, word->find('\n')) : "source";
}

/// {name, title, scheduler, file} of each cluster profile; `why` if it is unusable.
Json clusters(System& system) {
  Json all = Json::array();
  for (const ProfileText& found : profile_texts(system)) {
    const auto parsed = parse_cluster_profile(found.text, found.file);
    Json entry = {{"name", found.name}, {"file", found.file}};
    if (parsed.profile) {
      entry["title"] = parsed.profile->title;
      entry["scheduler"] = parsed.profile->scheduler;
    } else {
      const auto& first = parsed.problems.front();
      entry["why"] = fmt::format("line {}: {}", first.line, first.message);
    }
    all.push_back(std::move(entry));
  }
  return all;
}

std::string render_clusters(const Json& all) {
  std::string text;
  for (const Json& entry : all) {
    text +=
        fmt::format("{:14}{:18}", text.empty() ? "clusters" : "", entry["name"].get<std::string>());
    text += entry.contains("why") ? "no: " + entry["why"].get<std::string>()
                                  : entry["title"].get<std::string>();
    const std::string file = entry["file"];
    text += (file == "built in" ? "" : " (" + file + ")") + "\n";
  }
  return text;
}

/// The file itself, with its comments.
Result<int> show_cluster(System& system, const std::string& name) {
  const auto profile = find_profile(system, name);
  if (!profile) return profile.error();
  system.print(profile->text);
  return exit_code::success;
}

std::string render_block(std::string_view title, const Json& block) {
  std::string text;
  for (const auto& [name, entry] : block.items()) {
    const bool usable = entry["usable"];
    text += fmt::format("{:14}{:18}{}", text.empty() ? title : "", name, usable ? "yes" : "no");
    if (entry.contains("why")) text += ": " + entry["why"].get<std::string>();
    if (entry.contains("driver")) text += ", driver " + entry["driver"].get<std::string>();
    text += '\n';
  }
  return text;
}

std::string render_program(std::string_view title, const Json& program) {
  if (!program["found"]) {
    return fmt::format("{:14}no: {}\n", title, program["why"].get<std::string>());
  }
  return fmt::format("{:14}{} ({})\n", title, program["version"].get<std::string>(),
                     program["path"].get<std::string>());
}

std::string render_mpi_modules(const Json& modules) {
  std::string text;
  for (const Json& module : modules) {
    text += fmt::format("{:14}", text.empty() ? "MPI modules" : "");
    if (module.contains("problem")) {
      text += module["problem"].get<std::string>() + "\n";
      continue;
    }
    text += fmt::format("{}: for {}; the library here is {}\n", module["path"].get<std::string>(),
                        module["fits"].get<std::string>(), module["library"].get<std::string>());
  }
  return text;
}

/// The network between all nodes, as Slurm knows it; null: it knows none.
Json network_here(System& system) {
  const auto network = slurm_network(system);
  std::vector<std::string> nodes;
  for (const auto& [node, leaf] : network.leaf_of) nodes.push_back(node);
  if (nodes.empty()) return nullptr;
  std::ranges::sort(nodes, counts_before);
  const auto levels = level_crossings(network, nodes, network_order(network, nodes));
  return {{"source", network.source},
          {"kind", network.kind},
          {"nodes", nodes.size()},
          {"ring", ring_words(levels, nodes.size())}};
}

std::string render_network(const Json& network) {
  if (network.is_null()) return "";
  const auto ring = network["ring"].get<std::string>();
  return fmt::format("{:14}{} of {}: {}{}{}\n", "network", network["kind"].get<std::string>(),
                     counted(network["nodes"].get<int>(), "node"),
                     network["source"].get<std::string>(), ring.empty() ? "" : "; ", ring);
}

Result<int> show_info(System& system, bool json) {
  constexpr std::chrono::seconds limit(10);
  const Json mpi = observe_program(system, "mpirun", limit);
  const Json modules = mpi_modules(system);
  const Json ways = transports(modules);
  const Json slurm = observe_program(system, "sinfo", limit);
  const Json gpus = gpu_libraries(system);
  const Json info = {{"version", version()},
                     {"install", how_installed(system)},
                     {"backends", backends_of_trainer(gpus)},
                     {"communicators", communicators(system, ways["mpi"], gpus)},
                     {"transports", ways},
                     {"mpi_modules", modules},
                     {"slurm", slurm},
                     {"network", network_here(system)},
                     {"mpi", mpi},
                     {"gpu_libraries", gpus},
                     {"clusters", clusters(system)}};
  if (json) {
    system.print(json_text(info));
    return exit_code::success;
  }
  system.print(fmt::format("{:14}{}\n{:14}{}\n", "dllaunch", version(), "installed as",
                           info["install"].get<std::string>()) +
               render_block("backends", info["backends"]) +
               render_block("communicators", info["communicators"]) +
               render_block("transports", ways) + render_mpi_modules(modules) +
               render_block("GPU libraries", info["gpu_libraries"]) +
               render_program("slurm", slurm) + render_network(info["network"]) +
               render_program("mpi", mpi) + render_clusters(info["clusters"]));
  return exit_code::success;
}

/// All inputs of a plan: Slurm's configuration, probed nodes, or this machine's topology.
Result<int> show_facts(System& system) {
  const auto facts = find_facts(system, {});
  if (!facts) return facts.error();
  system.print(
      to_json(*facts).dump(1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n");
  return exit_code::success;
}

struct InfoArguments {
  bool facts = false;
  std::string cluster = {};
  bool json = false;
};

CommandBody declare_info(CommandOptions& app) {
  auto options = std::make_shared<InfoArguments>();
  app.add_flag("--facts", options->facts, "the facts that plans are made from, as JSON");
  app.add_option("--cluster", options->cluster, "the profile of a cluster, as YAML")
      ->type_name("CLUSTER");
  app.add_flag("--json", options->json, "one JSON document");
  return [options](System& system) {
    if (!options->cluster.empty()) return show_cluster(system, options->cluster);
    return options->facts ? show_facts(system) : show_info(system, options->json);
  };
}

}  // namespace

extern const Command info_command;
const Command info_command{"info", "what this build supports, and what it finds here",
                           info_examples, declare_info};

}  // namespace dllaunch

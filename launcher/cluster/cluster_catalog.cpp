#include "launcher/cluster/cluster_catalog.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "launcher/base/nearest_name.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;

/// More clusters than anyone uses: further files are ignored.
constexpr std::size_t most_files = 200;
constexpr std::string_view built_in = "built in";

bool is_path(std::string_view name) {
  return name.ends_with(".yaml") || name.ends_with(".yml");
}

std::string name_of(const std::string& path) {
  return fs::path(path).stem().string();
}

std::vector<std::string> own_files(System& system) {
  std::vector<std::string> paths;
  const auto folder = own_profiles_folder(system);
  if (!folder) return paths;
  std::error_code problem;
  for (fs::directory_iterator at(*folder, problem), end; !problem && at != end;
       at.increment(problem)) {
    const auto name = at->path().filename().string();
    if (name.starts_with('.') || !is_path(name)) continue;
    paths.push_back(at->path().string());
    if (paths.size() == most_files) break;
  }
  std::ranges::sort(paths);
  return paths;
}

Result<ClusterProfile> read_profile(System& system, const ProfileText& found) {
  auto parsed = parse_cluster_profile(found.text, found.file);
  if (parsed.profile) return *std::move(parsed.profile);
  system.log(render(parsed.problems, system.console().color_err));
  const auto count = parsed.problems.size();
  return Error{
      ErrorKind::bad_request,
      fmt::format("cluster profile {} has {} error{}", found.file, count, count == 1 ? "" : "s"),
      "docs/how-to/clusters.md lists every key"};
}

bool matches_any(const std::vector<std::string>& patterns, const std::string& word) {
  return !word.empty() && std::ranges::any_of(patterns, [&word](const std::string& pattern) {
    return fnmatch(pattern.c_str(), word.c_str(), 0) == 0;
  });
}

std::string first_common(const std::vector<std::string>& wanted, const SlurmFacts& slurm) {
  for (const auto& name : wanted)
    if (std::ranges::any_of(slurm.partitions,
                            [&name](const Partition& partition) { return partition.name == name; }))
      return name;
  return "";
}

struct Evidence {
  bool cluster = false;
  bool host = false;
  std::string partition = {};

  /// The cluster's name counts most; partitions alone prove nothing, since many sites have a `gpu`.
  int weight() const {
    if (!cluster && !host) return 0;
    return (cluster ? 4 : 0) + (host ? 2 : 0) + (partition.empty() ? 0 : 1);
  }
};

/// The signs that fit, on any cluster.
Evidence signs_seen(const ClusterProfile& profile, const Facts& facts) {
  const auto& signs = profile.recognise;
  Evidence evidence;
  evidence.host = matches_any(signs.hosts, facts.host);
  if (!facts.slurm) return evidence;
  evidence.cluster = matches_any(signs.clusters, facts.slurm->cluster);
  evidence.partition = first_common(signs.partitions, *facts.slurm);
  return evidence;
}

/// Empty if the signs belong to another cluster, or prove too little.
Evidence evidence_for(const ClusterProfile& profile, const Facts& facts) {
  const auto& signs = profile.recognise;
  auto evidence = signs_seen(profile, facts);
  if (!facts.slurm) return profile.scheduler == "slurm" ? Evidence{} : evidence;
  if (profile.scheduler != "slurm") return {};
  // One installation may contain several machines, distinguished by their partitions. login01 is a
  // common name: a host alone does not outweigh a different cluster name.
  if (!signs.partitions.empty() && evidence.partition.empty()) return {};
  if (!evidence.cluster && signs.partitions.empty() && !facts.slurm->cluster.empty()) return {};
  return evidence;
}

/// The lines of a built-in profile that identify its cluster: a tenth of the text.
std::string signs_of(std::string_view text) {
  std::string signs;
  bool wanted = false;
  while (!text.empty()) {
    const auto line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    text.remove_prefix(line.size());
    if (!line.starts_with(' '))
      wanted = line.starts_with("name:") || line.starts_with("scheduler:") ||
               line.starts_with("recognise:");
    if (wanted) signs += line;
  }
  return signs;
}

bool may_fit(const ProfileText& found, const Facts& facts) {
  if (found.file != built_in) return true;
  const auto parsed = parse_cluster_profile(signs_of(found.text), found.file);
  return !parsed.profile || evidence_for(*parsed.profile, facts).weight() > 0;
}

std::vector<ClusterProfile> read_all(System& system, const std::vector<ProfileText>& texts) {
  std::vector<ClusterProfile> all;
  for (const auto& found : texts) {
    auto parsed = parse_cluster_profile(found.text, found.file);
    if (parsed.profile) {
      all.push_back(*std::move(parsed.profile));
      continue;
    }
    const auto& first = parsed.problems.front();
    system.log(fmt::format("dllaunch: warning: cluster profile not used: {}:{}:{}: {}\n",
                           first.file, first.line, first.column, first.message));
  }
  return all;
}

bool is_sure(const ClusterProfile& profile, const std::string& key) {
  return std::ranges::none_of(profile.unverified,
                              [&key](const auto& doubt) { return doubt.first == key; });
}

}  // namespace

std::optional<std::string> own_profiles_folder(System& system) {
  const auto config = system.environment("XDG_CONFIG_HOME");
  if (config && config->starts_with('/')) return *config + "/dllaunch/clusters";
  const auto home = system.environment("HOME");
  if (home && home->starts_with('/')) return *home + "/.config/dllaunch/clusters";
  return std::nullopt;
}

std::vector<ProfileText> profile_texts(System& system, bool own) {
  std::map<std::string, ProfileText> by_name;
  for (const auto& embedded : embedded_cluster_profiles())
    by_name[std::string(embedded.name)] = {std::string(embedded.name), std::string(built_in),
                                           std::string(embedded.text)};
  if (own) {
    for (const auto& path : own_files(system)) {
      auto text = system.read_file(path);
      if (!text) {
        system.log(fmt::format("dllaunch: warning: {}\n", text.error().what));
        continue;
      }
      by_name[name_of(path)] = {name_of(path), path, *std::move(text)};
    }
  }
  std::vector<ProfileText> all;
  all.reserve(by_name.size());
  for (auto& [name, text] : by_name) all.push_back(std::move(text));
  return all;
}

Result<ClusterProfile> find_profile(System& system, const std::string& name) {
  if (is_path(name)) {
    auto text = system.read_file(name);
    if (!text)
      return Error{ErrorKind::bad_request, text.error().what, "give the path of a cluster profile"};
    return read_profile(system, {name_of(name), name, *std::move(text)});
  }
  const auto all = profile_texts(system);
  std::vector<std::string> names;
  for (const auto& found : all) {
    if (found.name == name) return read_profile(system, found);
    names.push_back(found.name);
  }
  const auto near = nearest_name(name, names);
  return Error{ErrorKind::bad_request,
               fmt::format("no cluster profile '{}'{}", name,
                           near ? fmt::format("; did you mean '{}'?", *near) : ""),
               fmt::format("use one of: {}; or a file of your own (docs/how-to/clusters.md)",
                           fmt::join(names, ", "))};
}

std::vector<ClusterProfile> read_profiles(System& system, bool own) {
  return read_all(system, profile_texts(system, own));
}

std::vector<ClusterProfile> read_candidates(System& system, const Facts& facts, bool own) {
  auto texts = profile_texts(system, own);
  std::erase_if(texts, [&](const ProfileText& found) { return !may_fit(found, facts); });
  return read_all(system, texts);
}

std::string recognised_by(const ClusterProfile& profile, const Facts& facts) {
  const auto evidence = evidence_for(profile, facts);
  if (evidence.weight() == 0) return "";
  std::vector<std::string> words;
  if (evidence.cluster) words.push_back("its name is " + facts.slurm->cluster);
  if (evidence.host) words.push_back("this is " + facts.host);
  if (!evidence.partition.empty()) words.push_back("it has partition " + evidence.partition);
  return fmt::format("{}", fmt::join(words, ", "));
}

ProfileMatch profile_match(const ClusterProfile& profile, const Facts& facts) {
  if (!facts.slurm || profile.scheduler != "slurm") return ProfileMatch::other;
  const auto& signs = profile.recognise;
  if (signs.clusters.empty() && signs.hosts.empty() && signs.partitions.empty())
    return ProfileMatch::alike;
  const auto seen = signs_seen(profile, facts);
  if (seen.cluster || seen.host) return ProfileMatch::alike;
  const bool another_name = !signs.clusters.empty() && !facts.slurm->cluster.empty() &&
                            is_sure(profile, "recognise.clusters");
  if (another_name) return ProfileMatch::other;
  return seen.partition.empty() ? ProfileMatch::unknown : ProfileMatch::alike;
}

std::string unlike_words(const ClusterProfile& profile, const Facts& facts) {
  const auto& signs = profile.recognise;
  std::vector<std::string> words;
  if (facts.slurm && !facts.slurm->cluster.empty())
    words.push_back(fmt::format("its name is '{}'", facts.slurm->cluster));
  if (!signs.hosts.empty() && !facts.host.empty())
    words.push_back(fmt::format("this host is {}", facts.host));
  if (!signs.partitions.empty())
    words.push_back(fmt::format("it has no partition {}", fmt::join(signs.partitions, " or ")));
  return fmt::format("{}", fmt::join(words, ", "));
}

const ClusterProfile* recognise(std::span<const ClusterProfile> profiles, const Facts& facts) {
  const ClusterProfile* best = nullptr;
  int most = 0;
  bool tie = false;
  for (const auto& profile : profiles) {
    const int weight = evidence_for(profile, facts).weight();
    if (weight == 0 || weight < most) continue;
    tie = weight == most;
    most = weight;
    best = &profile;
  }
  return tie ? nullptr : best;
}

}  // namespace dllaunch

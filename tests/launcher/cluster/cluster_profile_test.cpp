#include "launcher/cluster/cluster_profile.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "launcher/cluster/cluster_catalog.hpp"
#include "launcher/config/yaml_tree.hpp"
#include "support/json.hpp"
#include "tests/support/fake_system.hpp"
#include "tests/support/golden.hpp"

namespace dllaunch {

static void PrintTo(const EmbeddedProfile& one, std::ostream* out) {
  *out << one.name;
}

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr const char* full = R"(name: home
title: two boxes
scheduler: slurm
recognise: {clusters: [home*], hosts: [box0], partitions: [gpu]}
node_types:
  box: {cores: 4, threads: 2, reserve: 0, gpu_type: a100, gpus: [{near: 0-3}], features: [fast]}
partitions:
  - {name: gpu, node: box, nodes: 2, default: true, max_time: 1-00:00:00}
  - {name: free, node: box, nodes: 1}
modules: [cuda]
variables: {NCCL_DEBUG: INFO, NCCL_CROSS_NIC: 1}
node_folders: {CACHE: "/tmp/{user}-{job}"}
mpi: pmix
host_suffix: i
container: {runtime: singularity, mounts: [/opt]}
sbatch_extra: ["--constraint=fast"]
srun_extra: [--label]
failures: {node_mtbf: 300d, repair: 1d12h, uneven: 0.5}
unverified: {mpi: a guess}
)";

TEST(ClusterProfile, HoldsWhatTheFileSays) {
  const auto parsed = parse_cluster_profile(full, "home.yaml");
  ASSERT_TRUE(parsed.profile) << render(parsed.problems, false);
  const auto& profile = *parsed.profile;
  EXPECT_EQ(profile.name, "home");
  EXPECT_EQ(profile.file, "home.yaml");
  EXPECT_EQ(profile.text, full);
  EXPECT_THAT(profile.recognise.clusters, ElementsAre("home*"));
  ASSERT_EQ(profile.nodes.size(), 1u);
  EXPECT_EQ(profile.nodes[0].name, "box");
  EXPECT_EQ(profile.nodes[0].reserve, "0");
  EXPECT_EQ(profile.nodes[0].cores_per_package, 4);
  EXPECT_EQ(profile.nodes[0].threads_per_core, 2);
  ASSERT_EQ(profile.partitions.size(), 2u);
  EXPECT_EQ(profile.partitions[0].max_minutes, 24 * 60);
  EXPECT_FALSE(profile.partitions[1].max_minutes);
  EXPECT_THAT(profile.variables,
              ElementsAre(Pair("NCCL_DEBUG", "INFO"), Pair("NCCL_CROSS_NIC", "1")));
  EXPECT_THAT(profile.node_folders, ElementsAre(Pair("CACHE", "/tmp/{user}-{job}")));
  EXPECT_EQ(profile.host_suffix, "i");
  EXPECT_EQ(profile.container.runtime, "singularity");
  ASSERT_TRUE(profile.failures);
  EXPECT_EQ(profile.failures->node_mtbf_s, 300 * 86400);
  EXPECT_EQ(profile.failures->repair_s, 1.5 * 86400);
  EXPECT_EQ(profile.failures->uneven, 0.5);
  EXPECT_THAT(profile.unverified, ElementsAre(Pair("mpi", "a guess")));
}

TEST(ClusterProfile, FailuresNeedTheTimeBetweenThem) {
  const auto problem = [](const std::string& failures) {
    const auto parsed = parse_cluster_profile("name: x\nfailures: " + failures + "\n", "x.yaml");
    return parsed.problems.empty() ? "" : parsed.problems.at(0).message;
  };
  EXPECT_EQ(problem("{node_mtbf: 36h}"), "");
  EXPECT_THAT(problem("{repair: 1d}"), HasSubstr("failures: node_mtbf is missing"));
  EXPECT_THAT(problem("{node_mtbf: soon}"), HasSubstr("a time such as 300d or 36h"));
  EXPECT_EQ(problem("{node_mtbf: 1h, repair: 60min}"), "");
  for (const auto* senseless : {"{node_mtbf: 0s}", "{node_mtbf: 1s}", "{node_mtbf: 59min}"}) {
    EXPECT_THAT(problem(senseless), HasSubstr("fails more than once an hour; write 300d"));
  }
  EXPECT_THAT(problem("{node_mtbf: 20d, repair: 21d}"), HasSubstr("longer than node_mtbf"));
  EXPECT_THAT(problem("{node_mtbf: 9999999d}"), HasSubstr("more than a million days"));
}

TEST(ClusterProfile, ANameIsEnough) {
  const auto parsed = parse_cluster_profile("name: x\n", "x.yaml");
  ASSERT_TRUE(parsed.profile) << render(parsed.problems, false);
  EXPECT_EQ(parsed.profile->scheduler, "slurm");
  EXPECT_THAT(parsed.profile->nodes, IsEmpty());
}

TEST(ClusterProfile, TellsEveryMistakeWithItsPlace) {
  const auto wrong_words = parse_cluster_profile(R"(name: home
schedular: slurm
recognise: {host: [a]}
node_types:
  box: {cores: 0, threads: two}
partitions:
  - {name: gpu, nodes: 2}
variables: {"A-B": 1}
mpi: "a
b"
)",
                                                 "home.yaml");
  ASSERT_FALSE(wrong_words.profile);
  const auto wrong_sense = parse_cluster_profile(R"(name: auto
node_types:
  box.1: {cores: 4, gpus: [{near: 4}]}
  other: {cores: 4}
partitions:
  - {name: gpu, node: boxx, nodes: 2, default: true}
  - {name: gpu, node: othr, nodes: 2, default: true, max_time: 1-2-3}
node_folders: {CACHE: /tmp/cache, TMP: "tmp/{user}", UP: "/tmp/../{user}"}
)",
                                                 "home.yaml");
  ASSERT_FALSE(wrong_sense.profile);
  EXPECT_TRUE(matches_golden(
      "launcher/cluster_profile_errors.txt",
      render(wrong_words.problems, false) + "\n" + render(wrong_sense.problems, false)));
}

TEST(ClusterProfile, APartitionByConstraintNeedsOne) {
  const std::string text =
      "name: home\nnode_types: {a: {cores: 4, constraint: gpu}, b: {cores: 4}}\n"
      "cpus_are: cores\nsuggested_modules: {mpi: [openmpi, cuda]}\n"
      "partitions:\n  - {name: p, node: a, nodes: 1, by_constraint: true}\n";
  const auto good = parse_cluster_profile(text, "home.yaml");
  ASSERT_TRUE(good.profile) << render(good.problems, false);
  EXPECT_TRUE(good.profile->partitions.at(0).by_constraint);
  EXPECT_EQ(good.profile->nodes.at(0).constraint, "gpu");
  EXPECT_TRUE(good.profile->cpus_are_cores);
  EXPECT_THAT(good.profile->suggested_modules,
              testing::ElementsAre(testing::Pair("mpi", testing::ElementsAre("openmpi", "cuda"))));
  const auto bad = parse_cluster_profile(
      text + "  - {name: q, node: b, nodes: 1, by_constraint: true}\n", "home.yaml");
  ASSERT_EQ(bad.problems.size(), 1u);
  EXPECT_EQ(bad.problems[0].message,
            "partitions[1].by_constraint: node type 'b' has no constraint");
}

TEST(ClusterProfile, AnEmptyFileAndAListAreNone) {
  EXPECT_THAT(parse_cluster_profile("# nothing\n", "x.yaml").problems.at(0).message,
              HasSubstr("the file is empty"));
  EXPECT_THAT(parse_cluster_profile("- a\n", "x.yaml").problems.at(0).message,
              HasSubstr("a cluster profile must be"));
  EXPECT_THAT(parse_cluster_profile("name: [\n", "x.yaml").problems.size(), 1u);
}

// ---- the profiles that come with this program -------------------------------------------------

class Shipped : public testing::TestWithParam<EmbeddedProfile> {};

TEST_P(Shipped, PassesItsSchemaAndIsNamedAsItsFile) {
  const auto parsed = parse_cluster_profile(GetParam().text, std::string(GetParam().name));
  ASSERT_TRUE(parsed.profile) << render(parsed.problems, false);
  EXPECT_EQ(parsed.profile->name, GetParam().name);
  EXPECT_NE(parsed.profile->title, "");
  EXPECT_FALSE(parsed.profile->partitions.empty());
  EXPECT_EQ(parsed.profile->scheduler == "slurm", parsed.profile->start.empty())
      << "another scheduler's profile says how to start the ranks there";
}

/// A line with a value below one of the keys that hold facts ends in "# [source] ...".
TEST_P(Shipped, EveryValueHasItsSource) {
  static const std::regex entry(R"(^ *(- )?[{A-Za-z_][A-Za-z0-9_]*:? .*$)");
  static const std::regex tag(R"( # (?:CPUs )?\[([a-z0-9-]+)\])");
  static const std::set<std::string> no_facts = {"name", "title", "sources", "unverified"};
  std::set<std::string> sources = {"unverified", "derived"};
  const auto document = parse_yaml(GetParam().text, 0);
  for (const auto& item : document.root->entries)
    if (item.key == "sources")
      for (const auto& source : item.value->entries) sources.insert(source.key);

  std::string section;
  bool sourced_list = false;  // the key above the items of a list has told where they are from
  for (const auto line : lines_of(GetParam().text)) {
    const std::string text(line);
    if (text.empty() || text.front() == '#') continue;
    if (text.front() != ' ') section = text.substr(0, text.find(':'));
    if (no_facts.contains(section)) continue;
    std::smatch found;
    const bool tagged = std::regex_search(text, found, tag);
    if (tagged) {
      EXPECT_TRUE(sources.contains(found[1])) << text;
    }
    const bool item = text.find("- {") != std::string::npos;
    const bool opens =
        text.find(": ") == std::string::npos || text.find(":  #") != std::string::npos;
    if (!item) sourced_list = opens && tagged;
    const bool bare = text.back() == ':';
    EXPECT_TRUE(tagged || bare || (item && sourced_list)) << "no source: " << text;
  }
}

TEST_P(Shipped, WhatIsUnverifiedIsThere) {
  const auto document = parse_yaml(GetParam().text, 0);
  const auto parsed = parse_cluster_profile(GetParam().text, "");
  ASSERT_TRUE(parsed.profile);
  for (const auto& [key, why] : parsed.profile->unverified) {
    const std::string first = key.substr(0, key.find('.'));
    EXPECT_TRUE(std::any_of(document.root->entries.begin(), document.root->entries.end(),
                            [&first](const auto& entry) { return entry.key == first; }))
        << key;
    EXPECT_NE(why, "");
  }
}

TEST_P(Shipped, IsInTheGuide) {
  std::ifstream file(std::string(DLLAUNCH_SOURCE_DIR) + "/docs/how-to/clusters.md");
  const std::string guide(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(guide, HasSubstr("`" + std::string(GetParam().name) + "`"));
}

INSTANTIATE_TEST_SUITE_P(Profiles, Shipped, testing::ValuesIn([] {
                           const auto all = embedded_cluster_profiles();
                           return std::vector<EmbeddedProfile>(all.begin(), all.end());
                         }()),
                         [](const auto& shipped) {
                           std::string name(shipped.param.name);
                           for (char& c : name)
                             if (c == '-') c = '_';
                           return name;
                         });

TEST(ClusterProfile, TheGuidesExampleIsOne) {
  std::ifstream file(std::string(DLLAUNCH_SOURCE_DIR) + "/docs/how-to/clusters.md");
  const std::string guide(std::istreambuf_iterator<char>(file), {});
  const std::string mark = "```yaml title=\"home.yaml\"\n";
  const auto fence = guide.find(mark);
  ASSERT_NE(fence, std::string::npos);
  const auto begin = fence + mark.size();
  const auto example = guide.substr(begin, guide.find("```", begin) - begin);
  const auto parsed = parse_cluster_profile(example, "docs/how-to/clusters.md");
  ASSERT_TRUE(parsed.profile) << render(parsed.problems, false);
  for (const auto& [key, rules] : cluster_profile_schema()["properties"].items())
    EXPECT_THAT(example, HasSubstr((key == "name" ? "" : "\n") + key + ":"))
        << "every key is shown";
  const auto& node = cluster_profile_schema()["properties"]["node_types"]["additionalProperties"];
  for (const auto& [key, rules] : node["properties"].items())
    EXPECT_THAT(example, HasSubstr("    " + key + ":")) << "every key is shown";
}

TEST(ShippedProfiles, AreThoseOfTheFolder) {
  std::set<std::string> files;
  for (const auto& file : std::filesystem::directory_iterator(std::string(DLLAUNCH_SOURCE_DIR) +
                                                              "/templates/clusters"))
    files.insert(file.path().stem().string());
  std::set<std::string> built_in;
  for (const auto& profile : embedded_cluster_profiles()) built_in.emplace(profile.name);
  EXPECT_EQ(built_in, files);
  EXPECT_GE(files.size(), 12u);
}

}  // namespace
}  // namespace dllaunch

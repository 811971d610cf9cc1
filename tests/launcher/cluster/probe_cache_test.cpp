#include "launcher/cluster/probe_cache.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "launcher/cluster/probed_node.hpp"
#include "launcher/os/atomic_file.hpp"
#include "tests/launcher/disk_system.hpp"
#include "tests/launcher/sample_plans.hpp"
#include "tests/launcher/sample_probes.hpp"

namespace dllaunch {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ProbedNode node(std::size_t type, std::int64_t time = 1'700'000'000) {
  const auto facts = mixed_cluster();
  auto probed = probe_of(facts, facts.slurm->partitions[0].node_types[type]);
  probed.time = time;
  return probed;
}

ProbeFiles kept(System& system, const ProbedNode& probed) {
  auto files = write_probe(system, probed, "<topology/>");
  EXPECT_TRUE(files) << files.error().what;
  return files ? *files : ProbeFiles{};
}

TEST(ProbeCache, LiesWhereXdgSays) {
  FakeSystem system;
  EXPECT_EQ(probe_cache_folder(system), std::nullopt);
  EXPECT_THAT(read_probe_cache(system, "c").nodes, IsEmpty());
  EXPECT_FALSE(write_probe(system, node(0), ""));
  system.variables["HOME"] = "/home/me";
  EXPECT_EQ(probe_cache_folder(system), "/home/me/.cache/dllaunch/clusters");
  system.variables["XDG_CACHE_HOME"] = "relative";
  EXPECT_EQ(probe_cache_folder(system), "/home/me/.cache/dllaunch/clusters");
  system.variables["XDG_CACHE_HOME"] = "/scratch/me";
  EXPECT_EQ(probe_cache_folder(system), "/scratch/me/dllaunch/clusters");
}

TEST(ProbeCache, GivesBackWhatWasKeptNewestFirst) {
  DiskSystem system;
  kept(system, node(0, 100));
  const auto files = kept(system, node(1, 200));
  EXPECT_EQ(*system.read_file(files.xml), "<topology/>");
  const auto cache = read_probe_cache(system, "cluster");
  EXPECT_THAT(cache.complaints, IsEmpty());
  ASSERT_EQ(cache.nodes.size(), 2u);
  EXPECT_EQ(to_json(cache.nodes[0]), to_json(node(1, 200)));
  EXPECT_EQ(cache.nodes[1].time, 100);
}

TEST(ProbeCache, ANodeTypeHasOneRecord) {
  DiskSystem system;
  kept(system, node(1, 100));
  kept(system, node(1, 300));
  const auto cache = read_probe_cache(system, "cluster");
  ASSERT_EQ(cache.nodes.size(), 1u);
  EXPECT_EQ(cache.nodes[0].time, 300);
}

TEST(ProbeCache, ClustersStayApart) {
  DiskSystem system;
  auto other = node(0);
  other.cluster = "../other/cluster";
  const auto files = kept(system, other);
  EXPECT_TRUE(files.json.starts_with(system.folder.path() + "/dllaunch/clusters/")) << files.json;
  EXPECT_TRUE(fs::equivalent(fs::path(files.json).parent_path().parent_path(),
                             system.folder.path() + "/dllaunch/clusters"));
  kept(system, node(1));
  EXPECT_EQ(read_probe_cache(system, "cluster").nodes.size(), 1u);
  EXPECT_EQ(read_probe_cache(system, "../other/cluster").nodes.size(), 1u);
  EXPECT_EQ(read_probe_cache(system, std::nullopt).nodes.size(), 2u);
  other.cluster = "..";
  EXPECT_THAT(kept(system, other).json, HasSubstr("/clusters/__/"));
}

TEST(ProbeCache, DamagedRecordsAreNamedAndLeftOut) {
  DiskSystem system;
  const auto good = kept(system, node(0));
  const auto folder = fs::path(good.json).parent_path().string();
  const auto text = *system.read_file(good.json);
  // Cut off anywhere, it is refused and nothing else is.
  for (std::size_t size = 0; size + 2 < text.size(); size += 61) {
    ASSERT_TRUE(write_file(folder + "/cut.json", text.substr(0, size)));
    const auto cache = read_probe_cache(system, "cluster");
    ASSERT_EQ(cache.nodes.size(), 1u) << size;
    EXPECT_THAT(cache.complaints, ElementsAre(HasSubstr("cut.json is not used: ")));
  }
  auto newer = text;
  newer.replace(newer.find("\"format\": 1"), 11, "\"format\": 7");
  ASSERT_TRUE(write_file(folder + "/cut.json", newer));
  EXPECT_THAT(read_probe_cache(system, "cluster").complaints,
              ElementsAre(HasSubstr("of format 7, this dllaunch reads up to 1")));
}

TEST(ProbeCache, WhatIsNotOursIsNotRead) {
  DiskSystem system;
  const auto good = kept(system, node(0));
  const auto folder = fs::path(good.json).parent_path().string();
  ASSERT_TRUE(write_file(folder + "/.half.json.1.tmp", "{"));
  ASSERT_TRUE(write_file(folder + "/.half.json", "{"));
  ASSERT_TRUE(write_file(folder + "/notes.txt", "{"));
  fs::create_directory(folder + "/folder.json");
  const auto huge = folder + "/huge.json";
  ASSERT_TRUE(write_file(huge, "{}"));
  fs::resize_file(huge, std::uintmax_t{1} << 40);  // sparse
  const auto cache = read_probe_cache(system, "cluster");
  EXPECT_EQ(cache.nodes.size(), 1u);
  EXPECT_THAT(cache.complaints,
              ElementsAre(HasSubstr("folder.json is not used"), HasSubstr("larger than 16 MiB")));
}

TEST(ProbeCache, AFolderThatCannotBeMadeIsSaidSo) {
  DiskSystem system;
  ASSERT_TRUE(write_file(system.folder.path() + "/file", ""));
  system.variables["XDG_CACHE_HOME"] = system.folder.path() + "/file";
  const auto files = write_probe(system, node(0), "");
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().kind, ErrorKind::unavailable);
  EXPECT_THAT(files.error().hint, HasSubstr("XDG_CACHE_HOME"));
}

}  // namespace
}  // namespace dllaunch

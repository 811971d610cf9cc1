#include "launcher/cluster/cluster_catalog.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/launcher/disk_system.hpp"

namespace dllaunch {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;

/// A home with a folder of its own for profiles.
class Home : public DiskSystem {
 public:
  Home() {
    variables["HOME"] = folder.path();
    variables.erase("XDG_CONFIG_HOME");
    std::filesystem::create_directories(folder.path() + "/.config/dllaunch/clusters");
  }

  std::string add(const std::string& name, const std::string& text) {
    const auto path = folder.path() + "/.config/dllaunch/clusters/" + name;
    std::ofstream(path) << text;
    return path;
  }
};

TEST(ClusterCatalog, TheUsersFilesAreBesideOurs) {
  Home system;
  const auto path = system.add("home.yaml", "name: home\ntitle: two boxes\n");
  system.add("README.txt", "not a profile");
  system.add(".hidden.yaml", "name: hidden");
  const auto all = profile_texts(system);
  EXPECT_EQ(all.size(), embedded_cluster_profiles().size() + 1);
  const auto found = find_profile(system, "home");
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(found->title, "two boxes");
  EXPECT_EQ(found->file, path);
  EXPECT_EQ(profile_texts(system, /*own=*/false).size(), embedded_cluster_profiles().size());
}

TEST(ClusterCatalog, TheUsersFileOfTheSameNameWins) {
  Home system;
  EXPECT_EQ(find_profile(system, "lumi-g")->file, "built in");
  const auto path = system.add("lumi-g.yaml", "name: lumi-g\ntitle: mine\n");
  EXPECT_EQ(find_profile(system, "lumi-g")->title, "mine");
  EXPECT_EQ(find_profile(system, "lumi-g")->file, path);
}

TEST(ClusterCatalog, XdgSaysWhereTheFolderIs) {
  FakeSystem system;
  EXPECT_FALSE(own_profiles_folder(system));
  system.variables["HOME"] = "/home/u";
  EXPECT_EQ(own_profiles_folder(system), "/home/u/.config/dllaunch/clusters");
  system.variables["XDG_CONFIG_HOME"] = "relative";
  EXPECT_EQ(own_profiles_folder(system), "/home/u/.config/dllaunch/clusters");
  system.variables["XDG_CONFIG_HOME"] = "/x";
  EXPECT_EQ(own_profiles_folder(system), "/x/dllaunch/clusters");
}

TEST(ClusterCatalog, APathNamesAFile) {
  Home system;
  system.files["mine.yaml"] = "name: elsewhere\n";
  EXPECT_EQ(find_profile(system, "mine.yaml")->name, "elsewhere");
  const auto none = find_profile(system, "none.yaml");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::bad_request);
  EXPECT_THAT(none.error().what, HasSubstr("none.yaml"));
}

TEST(ClusterCatalog, SuggestsTheNearestName) {
  Home system;
  const auto none = find_profile(system, "lumi_g");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().what, "no cluster profile 'lumi_g'; did you mean 'lumi-g'?");
  EXPECT_THAT(none.error().hint, HasSubstr("one of: cpu, cte-power,"));
}

TEST(ClusterCatalog, TellsWhatIsWrongWithTheUsersFile) {
  Home system;
  const auto path = system.add("home.yaml", "name: home\nmoduls: [a]\n");
  const auto broken = find_profile(system, "home");
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().what, HasSubstr("has 1 error"));
  EXPECT_THAT(system.logged, HasSubstr(path + ":2:1: error: unknown key 'moduls'; did you mean "
                                              "'modules'?"));
  system.logged.clear();
  EXPECT_EQ(read_profiles(system).size(), embedded_cluster_profiles().size());
  system.logged.clear();
  EXPECT_TRUE(read_candidates(system, Facts{}).empty());
  EXPECT_THAT(system.logged, HasSubstr("warning: cluster profile not used: " + path + ":2:1"));
}

// ---- recognition -------------------------------------------------------------------------------

Facts cluster(const std::string& name, const std::string& host,
              const std::vector<std::string>& partitions) {
  SlurmFacts slurm{.cluster = name};
  for (const auto& partition : partitions) slurm.partitions.push_back({.name = partition});
  return {.host = host, .slurm = slurm};
}

std::string recognised(const Facts& facts) {
  FakeSystem system;
  const auto profiles = read_profiles(system);
  const auto* profile = recognise(profiles, facts);
  // Those that are not read in full are those that do not fit.
  std::vector<std::string> fitting;
  for (const auto& one : profiles)
    if (!recognised_by(one, facts).empty()) fitting.push_back(one.name);
  std::vector<std::string> candidates;
  for (const auto& one : read_candidates(system, facts)) candidates.push_back(one.name);
  EXPECT_EQ(candidates, fitting);
  return profile == nullptr ? "none" : profile->name;
}

TEST(Recognise, ByTheNameTheClusterGivesItself) {
  EXPECT_EQ(recognised(cluster("lumi", "uan02", {"standard", "standard-g", "dev-g"})), "lumi-g");
  EXPECT_EQ(recognised(cluster("frontier", "login12.frontier", {"batch", "extended"})), "frontier");
  EXPECT_EQ(recognised(cluster("perlmutter", "login21", {"gpu_ss11", "cpu_ss11"})), "perlmutter");
  EXPECT_EQ(recognised(cluster("juwels", "jwlogin22.juwels", {"booster"})), "juwels-booster");
  EXPECT_EQ(recognised(cluster("leonardo", "login05.leonardo.local", {"boost_usr_prod"})),
            "leonardo-booster");
  EXPECT_EQ(recognised(cluster("frontier", "frontier00042", {"batch"})), "frontier")
      << "on a compute node too";
}

TEST(Recognise, ByHostAndPartitionsWhereNoNameIsKnown) {
  EXPECT_EQ(recognised(cluster("", "uan01", {"standard-g"})), "lumi-g");
  EXPECT_EQ(recognised(cluster("nautilus", "alogin2", {"acc", "acc_debug"})), "marenostrum5-acc");
  EXPECT_EQ(recognised(cluster("", "plogin1", {"main"})), "cte-power");
}

TEST(Recognise, PartitionsTellPartsOfOneClusterApart) {
  EXPECT_EQ(recognised(cluster("juwels", "jwlogin03", {"batch", "devel"})), "none")
      << "the Cluster module, not the Booster";
  EXPECT_EQ(recognised(cluster("leonardo", "login05.leonardo.local", {"dcgp_usr_prod"})), "none");
  EXPECT_EQ(recognised(cluster("lumi", "uan01", {"standard", "small"})), "none");
}

TEST(Recognise, WhatManySitesHaveProvesNothing) {
  EXPECT_EQ(recognised(cluster("home", "login01", {"gpu", "cpu", "batch", "main"})), "none");
  EXPECT_EQ(recognised(cluster("home", "box", {"standard-g"})), "none") << "a partition alone";
  EXPECT_EQ(recognised({.host = "login01"}), "none") << "no Slurm";
}

TEST(Recognise, OtherSchedulersByTheirLoginNodes) {
  EXPECT_EQ(recognised({.host = "polaris-login-01"}), "polaris");
  EXPECT_EQ(recognised({.host = "polaris-login-04.hsn.cm.polaris.alcf.anl.gov"}), "polaris");
  EXPECT_EQ(recognised({.host = "login3.summit.olcf.ornl.gov"}), "summit");
  EXPECT_EQ(recognised({.host = "thetalogin5"}), "theta");
  EXPECT_EQ(recognised(cluster("x", "polaris-login-01", {})), "none") << "it has a Slurm";
}

TEST(Recognise, TwoThatFitAlikeAreNone) {
  const auto profile = [](const char* name, const char* host) {
    ClusterProfile made;
    made.name = name;
    made.recognise = {.clusters = {"home"}, .hosts = {host}};
    return made;
  };
  const std::vector<ClusterProfile> same = {profile("a", "x"), profile("b", "x")};
  const auto facts = cluster("home", "box7", {});
  EXPECT_EQ(recognise(same, facts), nullptr);
  const std::vector<ClusterProfile> better = {profile("a", "x"), profile("b", "box[0-9]")};
  ASSERT_NE(recognise(better, facts), nullptr);
  EXPECT_EQ(recognise(better, facts)->name, "b");
  EXPECT_EQ(recognised_by(better[1], facts), "its name is home, this is box7");
  EXPECT_EQ(recognised_by(better[1], cluster("other", "y", {})), "");
}

}  // namespace
}  // namespace dllaunch

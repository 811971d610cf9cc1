#include "launcher/rank/rank_shim.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "topology/node/synthetic.hpp"

namespace dllaunch {
namespace {

Topology node_of(const std::string& text) {
  auto node = synthetic_topology(text);
  EXPECT_TRUE(node);
  return *std::move(node);
}

RankContext context(int local_rank, int local_size, Topology node) {
  const IdSet all = node.cpus();
  return {.rank = {.rank = local_rank,
                   .world_size = local_size,
                   .local_rank = local_rank,
                   .local_world_size = local_size},
          .host = "n1",
          .node = std::move(node),
          .current = all};
}

PlannedBinding two_halves() {
  return {.masks = {{0, 1, 2, 3}, {4, 5, 6, 7}}, .request = {}};
}

TEST(RankShim, TakesThePlansMaskWhereItFits) {
  const auto binding = choose_binding(two_halves(), context(1, 2, node_of("cores:8")));
  EXPECT_EQ(to_list(binding.cpus), "4-7");
  EXPECT_EQ(binding.cores, 4);
  EXPECT_EQ(binding.note, "");
}

TEST(RankShim, PlacesAnewOnASmallerNode) {
  const auto first = choose_binding(two_halves(), context(0, 2, node_of("cores:4")));
  const auto second = choose_binding(two_halves(), context(1, 2, node_of("cores:4")));
  EXPECT_EQ(to_list(first.cpus), "0-1");
  EXPECT_EQ(to_list(second.cpus), "2-3");
  EXPECT_EQ(second.note, "rank 1 on n1: planned CPUs 4-7, this node allows 0-3: bound to 2-3");
}

TEST(RankShim, FillsTheNodeThatItFindsWhereThePlanSaysSo) {
  auto node = node_of("numa:2 cores:4 gpus:2");
  node.gpus[1].cpus = node.gpus[0].cpus;
  auto planned = read_planned_binding(
      R"({"binding": {"policy": "closest", "ranks": [{"mask": "0x3"}, {"mask": "0xc"}]},
          "topology": {"exact": false}, "placement": {"policy": "closest", "cores": "fill"}})");
  ASSERT_TRUE(planned) << planned.error().what;
  EXPECT_EQ(to_list(choose_binding(*planned, context(0, 2, node)).cpus), "0-1,4-5");
  EXPECT_EQ(choose_binding(*planned, context(1, 2, node)).cores, 4);
  EXPECT_FALSE(read_planned_binding(
      R"({"binding": {"policy": "closest"}, "placement": {"cores": "some"}})"));
}

// GPU 0 hangs off the second NUMA node, which Slurm's counts do not say.
TEST(RankShim, APlanMadeOfCountsIsMadeAnewOnTheNode) {
  auto node = node_of("numa:2 cores:4 gpus:2");
  std::swap(node.gpus[0].cpus, node.gpus[1].cpus);
  std::swap(node.gpus[0].numa, node.gpus[1].numa);
  auto counted = two_halves();
  EXPECT_EQ(to_list(choose_binding(counted, context(0, 2, node)).cpus), "0-3") << "as planned";
  counted.exact = false;
  const auto binding = choose_binding(counted, context(0, 2, node));
  EXPECT_EQ(to_list(binding.cpus), "4-7") << "beside its GPU";
  EXPECT_EQ(binding.note, "");
  counted.request.policy = BindPolicy::explicit_masks;
  EXPECT_EQ(to_list(choose_binding(counted, context(0, 2, node)).cpus), "0-3") << "the user's own";
  counted.request.policy = BindPolicy::closest;
  counted.request.cores_per_rank = 64;
  EXPECT_EQ(to_list(choose_binding(counted, context(0, 2, node)).cpus), "0-3")
      << "better than nothing";
}

// Slurm gave the last two GPUs of four to this job and the first two to another.
TEST(RankShim, OnASharedNodeRanksGoBesideTheGpusTheySee) {
  PlannedBinding planned{.masks = {{0, 1, 2, 3}, {4, 5, 6, 7}}, .request = {.gpus = 2}};
  auto shared = context(0, 2, node_of("numa:4 cores:4 gpus:4"));
  for (auto& gpu : shared.node.gpus) gpu.vendor = "nvidia";
  for (int i = 0; i < 2; ++i) {
    planned.gpus.push_back({shared.node.gpus[static_cast<std::size_t>(i)].pci});
  }
  const auto bound = [&](int rank, const std::string& visible) {
    shared.rank.rank = shared.rank.local_rank = rank;
    see_gpus(
        [&](const std::string& name) -> std::optional<std::string> {
          if (name != "CUDA_VISIBLE_DEVICES" || visible.empty()) return std::nullopt;
          return visible;
        },
        shared);
    return to_list(choose_binding(planned, shared).cpus);
  };
  const auto drives = [&] { return choose_gpus(planned, shared); };
  const auto pci = [&](std::size_t gpu) {
    return std::vector<std::string>{shared.node.gpus[gpu].pci};
  };
  EXPECT_EQ(bound(0, ""), "0-3") << "no variable: as planned";
  EXPECT_EQ(drives(), pci(0));
  EXPECT_EQ(bound(1, "0,1"), "4-7") << "the planned ones";
  EXPECT_EQ(drives(), pci(1));
  for (const bool exact : {true, false}) {
    planned.exact = exact;
    EXPECT_EQ(bound(0, "2,3"), "8-11");
    EXPECT_EQ(drives(), pci(2));
    EXPECT_EQ(bound(1, "2,3"), "12-15");
    EXPECT_EQ(drives(), pci(3));
    EXPECT_EQ(bound(0, "3,2"), "12-15") << "local rank 0 drives the first that it sees";
    EXPECT_EQ(drives(), pci(3));
  }
  planned.request.policy = BindPolicy::explicit_masks;
  EXPECT_EQ(bound(0, "2,3"), "0-3") << "the user's own masks";
}

/// An address that may be another GPU's is worse than none: without one, local ranks go in order.
TEST(RankShim, NamesNoGpuWhereNumbersSayNothingOfAddresses) {
  PlannedBinding planned{.masks = {}, .request = {.gpus = 2}};
  auto here = context(0, 2, node_of("numa:4 cores:4 gpus:4"));
  for (auto& gpu : here.node.gpus) gpu.vendor = "nvidia";
  const auto drives = [&](std::map<std::string, std::string> environment) {
    see_gpus(
        [&](const std::string& name) -> std::optional<std::string> {
          const auto found = environment.find(name);
          if (found == environment.end()) return std::nullopt;
          return found->second;
        },
        here);
    return choose_gpus(planned, here);
  };
  const std::vector<std::string> first = {here.node.gpus[0].pci};
  EXPECT_EQ(drives({}), first);
  EXPECT_EQ(drives({{"CUDA_VISIBLE_DEVICES", "0,1"}, {"SLURM_STEP_GPUS", "0,1"}}), first);
  EXPECT_TRUE(drives({{"CUDA_VISIBLE_DEVICES", "0,1"}, {"SLURM_STEP_GPUS", "2,3"}}).empty())
      << "a device cgroup counts from 0 again";
  EXPECT_TRUE(drives({{"CUDA_VISIBLE_DEVICES", "0,1"}, {"SLURM_JOB_GPUS", "2,3"}}).empty());
  EXPECT_TRUE(drives({{"CUDA_VISIBLE_DEVICES", "GPU-1,GPU-2"}}).empty()) << "NVML was not asked";
  EXPECT_TRUE(drives({{"CUDA_VISIBLE_DEVICES", ""}}).empty()) << "it sees none";
  EXPECT_TRUE(drives({{"NVIDIA_VISIBLE_DEVICES", "3"}}).empty()) << "a container with one of four";
  EXPECT_EQ(drives({{"NVIDIA_VISIBLE_DEVICES", "all"}}), first);
}

/// The integrated GPU comes first in PCI order, and is not for compute.
TEST(RankShim, NamesGpusOfTheVendorThatComputes) {
  PlannedBinding planned{.masks = {}, .request = {.gpus = 2}};
  for (const int rank : {0, 1}) {
    auto here = context(rank, 2, node_of("numa:2 cores:4 gpus:2"));
    here.node.gpus[0].vendor = "nvidia";
    here.node.gpus[1].vendor = "intel";
    planned.gpus = {{here.node.gpus[0].pci}, {here.node.gpus[1].pci}};
    see_gpus([](const std::string&) { return std::nullopt; }, here);
    EXPECT_EQ(choose_gpus(planned, here), std::vector{here.node.gpus[0].pci}) << rank;
  }
}

// One rank's mask alone may fit; the others' would then overlap with a new placement.
TEST(RankShim, AllRanksOfANodeDecideAlike) {
  const PlannedBinding planned{.masks = {{0, 1}, {8, 9}}, .request = {}};
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_NE(choose_binding(planned, context(rank, 2, node_of("cores:4"))).note, "");
  }
}

TEST(RankShim, AnotherCountOfRanksThanPlanned) {
  const auto binding = choose_binding(two_halves(), context(3, 4, node_of("cores:8")));
  EXPECT_EQ(to_list(binding.cpus), "6-7");
}

TEST(RankShim, OneMaskForAllTasksIsNoTasksOwn) {
  const RankEnv rank{.rank = 0, .world_size = 2, .local_world_size = 2, .launcher = "slurm"};
  const auto bound = [&rank](const std::string& type, const std::string& list) {
    return bound_by_slurm(
        [&](const std::string& name) -> std::optional<std::string> {
          if (name == "SLURM_CPU_BIND_TYPE") return type;
          if (name == "SLURM_CPU_BIND_LIST") return list;
          return std::nullopt;
        },
        rank);
  };
  EXPECT_FALSE(bound("none", ""));
  EXPECT_FALSE(bound("mask_cpu:", "0xf0")) << "srun --cpu-bind=none on part of a node, 22.05";
  EXPECT_TRUE(bound("mask_cpu:", "0x30,0xc0"));
  EXPECT_TRUE(bound("map_cpu:", "4"));

  auto part = context(1, 2, node_of("cores:8"));
  part.node.allowed_cpus = {4, 5, 6, 7};
  part.current = part.node.allowed_cpus;
  auto planned = two_halves();
  planned.exact = false;
  const auto dealt = choose_binding(planned, part);
  EXPECT_EQ(to_list(dealt.cpus), "6-7");
  EXPECT_EQ(dealt.note, "");
}

TEST(RankShim, WhatSrunGaveStays) {
  auto bound = context(1, 2, node_of("cores:8"));
  bound.bound_by_slurm = true;
  bound.current = {2};
  bound.node.allowed_cpus = {2};
  const auto kept = choose_binding(two_halves(), bound);
  EXPECT_TRUE(kept.cpus.empty());
  EXPECT_EQ(kept.cores, 1);
  EXPECT_EQ(kept.note, "rank 1 on n1: planned CPUs 4-7, srun gave 2: kept those");

  bound.current = {4, 5, 6, 7};
  bound.node.allowed_cpus = bound.current;
  EXPECT_EQ(choose_binding(two_halves(), bound).note, "");
}

TEST(RankShim, PolicyNoneBindsNothing) {
  PlannedBinding planned;
  planned.request.policy = BindPolicy::none;
  const auto binding = choose_binding(planned, context(0, 2, node_of("cores:8")));
  EXPECT_TRUE(binding.cpus.empty());
  EXPECT_EQ(binding.cores, 4);
}

TEST(RankShim, MoreRanksThanCpusStillGetOne) {
  for (int rank = 0; rank < 5; ++rank) {
    const auto binding = choose_binding(PlannedBinding{}, context(rank, 5, node_of("cores:2")));
    EXPECT_EQ(binding.cpus.size(), 1);
    EXPECT_EQ(binding.cores, 1);
  }
}

TEST(RankShim, ReadsAPlan) {
  const auto planned = read_planned_binding(
      R"({"ranks": 2, "binding": {"policy": "spread", "ranks": [{"mask": "0x3"}, {"mask": "0xc"}]},
          "placement": {"policy": "spread", "mode": "core", "order": "numa", "smt": true,
                        "reserve": "none", "gpus": 0, "cores_per_rank": 2}})");
  ASSERT_TRUE(planned) << planned.error().what;
  EXPECT_EQ(planned->masks, (std::vector<IdSet>{{0, 1}, {2, 3}}));
  EXPECT_EQ(planned->request.policy, BindPolicy::spread);
  EXPECT_EQ(planned->request.mode, BindMode::core);
  EXPECT_EQ(planned->request.order, RankOrder::numa);
  EXPECT_EQ(planned->request.cores, BindCores::automatic) << "a plan of before that key";
  EXPECT_TRUE(planned->request.smt);
  EXPECT_EQ(planned->request.cores_per_rank, 2);
  EXPECT_TRUE(planned->exact) << "a plan that does not say where its topology is from";
  const auto origin = [](const std::string& topology) {
    return read_planned_binding(R"({"binding": {"policy": "closest"}, "topology": )" + topology +
                                "}")
        ->exact;
  };
  EXPECT_FALSE(origin(R"({"source": "slurm", "exact": false})"));
  EXPECT_TRUE(origin(R"({"source": "probe", "exact": true})"));
  EXPECT_TRUE(origin(R"({"exact": "perhaps"})"));
  EXPECT_TRUE(origin("[]"));
}

TEST(RankShim, ReadsTheFrameworkAndTheGpusOfAPlan) {
  const auto framework = [](const std::string& text) {
    return read_planned_binding(R"({"binding": {"policy": "none"})" + text + "}")->framework;
  };
  EXPECT_EQ(framework(""), "none");
  EXPECT_EQ(framework(R"(, "framework": "jax")"), "jax");
  EXPECT_EQ(framework(R"(, "framework": null)"), "") << "the built-in trainer";
  const auto planned = read_planned_binding(
      R"({"binding": {"policy": "closest", "ranks": [
            {"mask": "0x3", "gpus": [{"index": 0, "pci": "0000:c1:00.0"}]},
            {"mask": "0xc", "gpus": [{"index": 1, "pci": ""}, 3]}]}})");
  ASSERT_TRUE(planned) << planned.error().what;
  EXPECT_EQ(planned->gpus, (std::vector<std::vector<std::string>>{{"0000:c1:00.0"}, {}}));
  const auto unbound = read_planned_binding(
      R"({"binding": {"policy": "none", "ranks": [
            {"mask": "", "gpus": [{"index": 0, "pci": "0000:c1:00.0"}]}]}})");
  ASSERT_TRUE(unbound) << unbound.error().what;
  EXPECT_EQ(unbound->gpus.size(), 1U);
  EXPECT_TRUE(unbound->masks.empty());
}

// As on Perlmutter: GPU 0 hangs off the last NUMA node, and ranks are numbered along these.
TEST(RankShim, GpusAreThoseThatThePlanDealtByTheirAddress) {
  auto node = node_of("numa:4 cores:2 gpus:4");
  for (const std::size_t i : {0U, 1U}) {
    std::swap(node.gpus[i].cpus, node.gpus[3 - i].cpus);
    std::swap(node.gpus[i].numa, node.gpus[3 - i].numa);
  }
  PlannedBinding planned{.request = {.gpus = 4, .order = RankOrder::numa}};
  const auto placed = place_ranks(node, {.ranks = 4, .gpus = 4, .order = RankOrder::numa});
  ASSERT_TRUE(placed);
  for (const auto& rank : placed->ranks) {
    planned.masks.push_back(rank.cpus);
    planned.gpus.push_back({node.gpus[static_cast<std::size_t>(rank.gpus.front())].pci});
  }
  for (int rank = 0; rank < 4; ++rank) {
    const auto last_first = node.gpus[static_cast<std::size_t>(3 - rank)].pci;
    EXPECT_EQ(choose_gpus(planned, context(rank, 4, node)), std::vector{last_first});
    PlannedBinding counted = planned;
    counted.exact = false;
    counted.gpus = {};
    EXPECT_EQ(choose_gpus(counted, context(rank, 4, node)), std::vector{last_first})
        << "placed anew";
  }
  auto elsewhere = planned;
  elsewhere.gpus[2] = {"0000:99:00.0"};
  EXPECT_EQ(choose_gpus(elsewhere, context(0, 4, node)), std::vector{node.gpus[3].pci})
      << "one planned GPU is absent: all ranks take a new placement";
  planned.request.gpus = 0;
  EXPECT_TRUE(choose_gpus(planned, context(0, 4, node)).empty()) << "device: cpu";
}

// A rank that srun bound elsewhere must not take the GPU of one that is where the plan says.
TEST(RankShim, ItsGpuDoesNotDependOnWhatARankIsBoundTo) {
  const auto node = node_of("numa:2 cores:4 gpus:2");
  PlannedBinding planned = two_halves();
  planned.request.gpus = 2;
  planned.gpus = {{node.gpus[1].pci}, {node.gpus[0].pci}};
  auto bound = context(0, 2, node);
  bound.bound_by_slurm = true;
  bound.current = bound.node.allowed_cpus = {5};
  EXPECT_TRUE(choose_binding(planned, bound).cpus.empty()) << "kept";
  EXPECT_EQ(choose_gpus(planned, bound), planned.gpus[0]);
  EXPECT_EQ(choose_gpus(planned, context(1, 2, node)), planned.gpus[1]);

  planned.exact = false;
  for (const RankOrder order : {RankOrder::gpu, RankOrder::numa}) {
    planned.request = {.gpus = 2, .cores_per_rank = 4, .order = order};
    EXPECT_EQ(choose_gpus(planned, bound), std::vector{node.gpus[0].pci}) << "placed anew";
    EXPECT_EQ(choose_gpus(planned, context(1, 2, node)), std::vector{node.gpus[1].pci});
  }
}

TEST(RankShim, RanksWithoutAPlanGetTheGpusOfTheirPlace) {
  const auto node = node_of("numa:2 cores:4 gpus:2");
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(choose_gpus({}, context(rank, 2, node)),
              std::vector{node.gpus[static_cast<std::size_t>(rank)].pci});
  }
  EXPECT_EQ(choose_gpus({}, context(0, 1, node)).size(), 2U) << "one process, all GPUs";
  EXPECT_TRUE(choose_gpus({}, context(0, 2, node_of("cores:4"))).empty());
}

TEST(RankShim, RefusesWhatIsNoPlan) {
  for (const char* text : {"", "{", "[]", "{}", R"({"binding": 3})",
                           R"({"binding": {"policy": "closest", "ranks": [{"mask": "zz"}]}})",
                           R"({"binding": {"policy": "upwards", "ranks": []}})",
                           R"({"binding": {"policy": "closest", "ranks": [3]}})"}) {
    EXPECT_FALSE(read_planned_binding(text)) << text;
  }
}

TEST(RankShim, VariablesOfARank) {
  const std::map<std::string, std::string> nothing;
  const RankEnv rank{.rank = 3,
                     .world_size = 4,
                     .local_rank = 1,
                     .local_world_size = 2,
                     .node_rank = 1,
                     .nodes = 2};
  std::map<std::string, std::string> set;
  for (auto& [name, value] :
       rank_variables(rank, {.cores = 6, .gpus = {"0000:c1:00.0", "0000:c2:00.0"}, .nic = "hsn1"},
                      "/run", [](const auto&) { return std::optional<std::string>(); })) {
    set[name] = value;
  }
  EXPECT_EQ(set, (std::map<std::string, std::string>{{"RANK", "3"},
                                                     {"LOCAL_RANK", "1"},
                                                     {"WORLD_SIZE", "4"},
                                                     {"LOCAL_WORLD_SIZE", "2"},
                                                     {"NODE_RANK", "1"},
                                                     {"OMP_NUM_THREADS", "6"},
                                                     {"PYTHONUNBUFFERED", "1"},
                                                     {"DLLAUNCH_RUN_DIR", "/run"},
                                                     {"DLLAUNCH_GPUS", "0000:c1:00.0,0000:c2:00.0"},
                                                     {"DLLAUNCH_NIC", "hsn1"}}));
}

TEST(RankShim, ANetworkCardIsThePlannedOneIfTheNodeHasIt) {
  const auto planned = read_planned_binding(
      R"({"binding": {"policy": "none", "ranks": [{"nic": "hsn0"}, {"nic": "hsn1"}, {"nic": "eth0"},
                                                  {}]}})");
  ASSERT_TRUE(planned) << planned.error().what;
  auto node = node_of("cores:8");
  node.nics = {{.name = "eth0"}, {.name = "hsn1", .fabric = true}};
  EXPECT_EQ(choose_nic(*planned, context(0, 4, node), {}), "") << "not here";
  EXPECT_EQ(choose_nic(*planned, context(1, 4, node), {}), "hsn1");
  EXPECT_EQ(choose_nic(*planned, context(2, 4, node), {}), "") << "not of a fast network";
  EXPECT_EQ(choose_nic(*planned, context(3, 4, node), {}), "");
  EXPECT_EQ(choose_nic(*planned, context(4, 5, node), {}), "") << "more ranks than planned";
  PlannedBinding near_a_gpu = *planned;
  near_a_gpu.gpus = {{}, {"0000:c1:00.0"}, {}, {}};
  EXPECT_EQ(choose_nic(near_a_gpu, context(1, 4, node), {}), "") << "another GPU, another card";
}

TEST(RankShim, EachRankHasItsOwnMigInstance) {
  EXPECT_EQ(own_mig_instance("MIG-a,MIG-b", 0), "MIG-a");
  EXPECT_EQ(own_mig_instance("MIG-a,MIG-b", 1), "MIG-b");
  EXPECT_EQ(own_mig_instance("MIG-GPU-1/3/0,MIG-GPU-1/4/0", 3), "MIG-GPU-1/4/0");
  for (const char* list : {"", "0,1,2", "GPU-a,GPU-b", "MIG-a", "MIG-a,0", "GPU-a,MIG-b"})
    EXPECT_EQ(own_mig_instance(list, 1), list);

  const auto variables = [](const std::string& visible) {
    return rank_variables({.local_rank = 1}, {}, "", [&](const std::string& name) {
      return name == "CUDA_VISIBLE_DEVICES" ? std::optional(visible) : std::nullopt;
    });
  };
  const std::pair<std::string, std::string> second = {"CUDA_VISIBLE_DEVICES", "MIG-b"};
  EXPECT_EQ(std::ranges::count(variables("MIG-a,MIG-b"), second), 1);
  for (const auto& [name, value] : variables("0,1")) EXPECT_NE(name, "CUDA_VISIBLE_DEVICES");
}

TEST(RankShim, RanksThatShareCpusWaitWithoutSpinning) {
  PlannedBinding planned = two_halves();
  EXPECT_FALSE(choose_binding(planned, context(0, 2, node_of("cores:8"))).shared);
  planned.masks[1] = planned.masks[0];
  const auto binding = choose_binding(planned, context(0, 2, node_of("cores:8")));
  EXPECT_TRUE(binding.shared);
  EXPECT_TRUE(choose_binding(PlannedBinding{}, context(0, 5, node_of("cores:2"))).shared);

  const auto variables =
      rank_variables({}, binding, "", [](const auto&) { return std::optional<std::string>(); });
  EXPECT_NE(std::find(variables.begin(), variables.end(),
                      std::pair<std::string, std::string>("OMP_WAIT_POLICY", "passive")),
            variables.end());
}

TEST(RankShim, PythonWritesEachLineAtOnceUnlessItsVariableIsSet) {
  const auto set = [](std::optional<std::string> theirs) {
    const auto all = rank_variables({}, {}, "", [&](const std::string& name) {
      return name == "PYTHONUNBUFFERED" ? theirs : std::nullopt;
    });
    return std::ranges::find(all, std::pair<std::string, std::string>("PYTHONUNBUFFERED", "1")) !=
           all.end();
  };
  EXPECT_TRUE(set(std::nullopt));
  EXPECT_FALSE(set("")) << "an empty value switches it off";
  EXPECT_FALSE(set("x"));
}

TEST(RankShim, ThePlanSaysWhichVariablesAreLeftAlone) {
  const auto planned = read_planned_binding(
      R"({"binding": {"policy": "none", "ranks": []}, "left_alone": ["PYTHONUNBUFFERED"]})");
  ASSERT_TRUE(planned) << planned.error().what;
  EXPECT_EQ(planned->left_alone, std::vector<std::string>{"PYTHONUNBUFFERED"});
}

TEST(RankShim, TheUsersThreadsWinAndAnUnknownNodeRankIsLeftOut) {
  RankEnv rank;
  rank.node_rank = -1;
  for (auto& [name, value] :
       rank_variables(rank, {.cores = 6, .shared = true}, "",
                      [](const std::string&) { return std::optional<std::string>("2"); })) {
    EXPECT_NE(name, "OMP_NUM_THREADS");
    EXPECT_NE(name, "OMP_WAIT_POLICY");
    EXPECT_NE(name, "NODE_RANK");
    EXPECT_NE(name, "DLLAUNCH_RUN_DIR");
  }
}

}  // namespace
}  // namespace dllaunch

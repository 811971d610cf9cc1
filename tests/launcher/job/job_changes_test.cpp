#include "launcher/job/job_changes.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "support/json.hpp"

namespace dllaunch {
namespace {

const Json job = Json::parse(R"({
  "name": "a", "cluster": "auto",
  "resources": {"nodes": 1, "ranks_per_node": 2, "device": "cpu", "time": "00:30:00"},
  "train": {"model": "cnn", "dataset": {"kind": "mnist", "path": null, "workers": 2},
            "batch_size": 64, "epochs": 1, "seed": 1,
            "optimizer": {"name": "sgd", "lr": 0.1}, "checkpoint": {"keep": 3}},
  "run": null, "environment": {"variables": {}}, "recovery": {"signal": "USR2"},
  "runtime": {"overlap": true, "compression": "none", "gradient_lag": 0}})");

/// With another value at "/train/epochs".
Json with(const std::string& pointer, const Json& value) {
  Json changed = job;
  Json* place = &changed;
  std::istringstream keys(pointer.substr(1));
  for (std::string key; std::getline(keys, key, '/');) place = &(*place)[key];
  *place = value;
  return changed;
}

TEST(JobChanges, TheSameJobHasNone) {
  EXPECT_TRUE(changes_that_matter(job, job).empty());
}

TEST(JobChanges, HowLongAndWhereMayChange) {
  for (const char* pointer :
       {"/name", "/resources/time", "/resources/nodes", "/resources/ranks_per_node",
        "/resources/partition", "/train/epochs", "/train/max_steps", "/train/validate_every",
        "/train/checkpoint/keep", "/train/reports/csv", "/train/optimizer/shard",
        "/train/dataset/workers", "/runtime/overlap", "/recovery/signal",
        "/environment/variables/X", "/binding/policy"}) {
    EXPECT_TRUE(changes_that_matter(job, with(pointer, "other")).empty()) << pointer;
  }
}

TEST(JobChanges, WhatIsComputedMayNot) {
  for (const char* pointer :
       {"/train/model", "/train/dataset/kind", "/train/dataset/path", "/train/batch_size",
        "/train/seed", "/train/precision", "/train/optimizer/lr", "/train/lr_schedule/decay",
        "/train/accumulate", "/resources/device", "/runtime/compression", "/runtime/gradient_lag",
        "/train/a_new_key", "/run"}) {
    EXPECT_EQ(changes_that_matter(job, with(pointer, "other")).size(), 1u) << pointer;
  }
}

TEST(JobChanges, AreNamedWithBothValues) {
  Json changed = with("/train/batch_size", 128);
  changed["train"]["optimizer"].erase("lr");
  EXPECT_EQ(
      changes_that_matter(job, changed),
      (std::vector<std::string>{"train.batch_size: 64 -> 128", "train.optimizer.lr: 0.1 -> null"}));
}

TEST(JobChanges, FromTrainingToACommand) {
  Json command = with("/run", {"./a"});
  command["train"] = nullptr;
  EXPECT_EQ(changes_that_matter(job, command).size(), 2u);
}

TEST(JobChanges, ACommandIsShownAsOneTypesIt) {
  const Json before = with("/run", {"python3", "a b.py"});
  EXPECT_EQ(changes_that_matter(before, with("/run", "python3 c.py")),
            std::vector<std::string>{"run: python3 'a b.py' -> \"python3 c.py\""});
}

/// What a retry in the same allocation can take up.
TEST(JobChanges, OnlyWhatRanksReadIsOfTheRanks) {
  for (const char* pointer : {"/train/batch_size", "/run", "/runtime/overlap",
                              "/environment/variables/A", "/recovery/max_restarts"})
    EXPECT_TRUE(changes_beyond_ranks(job, with(pointer, 7)).empty()) << pointer;
  for (const char* pointer :
       {"/resources/nodes", "/resources/time", "/runtime/transport", "/runtime/allreduce",
        "/environment/setup", "/recovery/signal", "/recovery/spare_nodes", "/stage", "/name"})
    EXPECT_EQ(changes_beyond_ranks(job, with(pointer, 7)).size(), 1u) << pointer;
  EXPECT_EQ(all_changes(job, with("/name", "b")), std::vector<std::string>{R"(name: "a" -> "b")"});
}

}  // namespace
}  // namespace dllaunch

#include "trainer/config/optimizer_keys.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/optimizers/optimizer_fields.hpp"

namespace dllaunch {
namespace {

const ConfigKey& key_at(const std::vector<ConfigKey>& keys, std::string_view path) {
  const auto found = std::ranges::find(keys, path, &ConfigKey::path);
  if (found == keys.end()) throw std::runtime_error("no key " + std::string(path));
  return *found;
}

/// An option in an optimiser's list without a key could never be set.
TEST(OptimizerKeys, EveryOptionOfEveryOptimizerIsAKeyWithItsDefault) {
  const auto keys = optimizer_keys();
  for (const auto& entry : optimizers()) {
    for (const auto& option : entry.options) {
      const auto& key = key_at(keys, "optimizer." + std::string(option));
      EXPECT_TRUE(key.choice.initial.contains(std::string(entry.name))) << key.path;
      const Json initial = key.choice.initial[std::string(entry.name)];
      EXPECT_FALSE(initial.is_null()) << key.path;
      const std::string name(option);
      EXPECT_EQ(initial, option_fields(entry.defaults).at(name)) << entry.name << " " << name;
      for (const bool flags : {false, true}) {
        TrainConfig config;
        config.optimizer_options = distinct_options(flags);
        auto expected = option_fields(config.optimizer_options);
        expected.at(name) = initial;
        key.store(config, initial);
        EXPECT_EQ(option_fields(config.optimizer_options), expected) << entry.name << " " << name;
      }
    }
  }
  for (const auto& key : keys) {
    if (!key.choice.by.empty()) {
      EXPECT_FALSE(key.choice.initial.empty()) << key.path;
    }
  }
}

TEST(OptimizerKeys, EveryOptionOfEveryDecayIsAKey) {
  const auto keys = schedule_keys();
  for (const auto& entry : lr_decays()) {
    for (const auto& option : entry.options) {
      const auto& key = key_at(keys, "lr_schedule." + std::string(option.name));
      EXPECT_TRUE(key.choice.initial.contains(std::string(entry.name))) << key.path;
      EXPECT_EQ(std::ranges::count(key.choice.needed, std::string(entry.name)),
                option.needed ? 1 : 0);
    }
  }
  for (const auto& key : keys) {
    if (!key.choice.by.empty()) {
      EXPECT_FALSE(key.choice.initial.empty()) << key.path;
    }
  }
}

TEST(OptimizerKeys, TheDefaultsOfTheContractAreThoseOfSgd) {
  const auto keys = optimizer_keys();
  EXPECT_EQ(key_at(keys, "optimizer.lr").initial, 0.01);
  EXPECT_EQ(key_at(keys, "optimizer.momentum").initial, 0.0);
  EXPECT_EQ(key_at(keys, "optimizer.weight_decay").initial, 0.0);
  EXPECT_EQ(key_at(keys, "optimizer.betas").initial, nullptr);
}

TEST(OptimizerKeys, DescriptionsListOptimizersAndDefaults) {
  const auto keys = optimizer_keys();
  EXPECT_THAT(key_at(keys, "optimizer.betas").description,
              testing::EndsWith(" (adam, adamw, lamb: [0.9,0.999])"));
  EXPECT_THAT(key_at(keys, "optimizer.weight_decay").description,
              testing::HasSubstr("adamw: 0.01"));
  EXPECT_THAT(key_at(schedule_keys(), "lr_schedule.gamma").description,
              testing::EndsWith(" (exponential: required; step, piecewise: 0.1)"));
}

}  // namespace
}  // namespace dllaunch

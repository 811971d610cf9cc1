#include "trainer/config/config_choices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/trainer/optimizers/optimizer_fields.hpp"

namespace dllaunch {
namespace {

using testing::HasSubstr;

Result<TrainConfig> parse_blocks(const std::string& blocks) {
  return parse_config(R"({"model": "lenet", )" + blocks + "}");
}

TEST(ConfigChoices, DefaultsAreThoseOfTheChosenOptimizer) {
  for (const auto& entry : optimizers()) {
    auto config = parse_blocks(R"("optimizer": {"name": ")" + std::string(entry.name) + R"("})");
    ASSERT_TRUE(config) << config.error().what;
    EXPECT_EQ(option_fields(config->optimizer_options), option_fields(entry.defaults))
        << entry.name;
  }
}

/// Sets each option of each optimiser, flags one at a time, and checks that others keep their
/// defaults.
TEST(ConfigChoices, ReadsEveryOption) {
  for (const auto& entry : optimizers()) {
    const auto defaults = option_fields(entry.defaults);
    Json numbers{{"name", entry.name}};
    std::vector<std::string> flags;
    for (const auto& option : entry.options) {
      const std::string name(option);
      if (defaults.at(name).is_boolean()) {
        flags.push_back(name);
      } else {
        numbers[name] = option_fields(distinct_options(false)).at(name);
      }
    }
    flags.emplace_back();  // none of them
    for (const auto& flag : flags) {
      Json block = numbers;
      if (!flag.empty()) block[flag] = !defaults.at(flag).get<bool>();
      auto expected = defaults;
      for (const auto& [name, value] : block.items()) {
        if (name != "name") expected.at(name) = value;
      }
      const auto config = parse_blocks("\"optimizer\": " + block.dump());
      ASSERT_TRUE(config) << config.error().what;
      EXPECT_EQ(option_fields(config->optimizer_options), expected) << block;
    }
  }
}

TEST(ConfigChoices, RejectsAnotherOptimizersOptionAndListsTheValidOnes) {
  auto config = parse_blocks(R"("optimizer": {"name": "adam", "momentum": 0.9, "rho": null})");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().what,
            "optimizer.momentum: name adam has no such key; it has lr, weight_decay, betas, eps");
  auto usual = parse_blocks(R"("optimizer": {"betas": [0.9, 0.99]})");
  ASSERT_FALSE(usual);
  EXPECT_EQ(usual.error().what,
            "optimizer.betas: name sgd has no such key; it has lr, momentum, nesterov, "
            "weight_decay");
}

TEST(ConfigChoices, ReadsEveryDecay) {
  auto config = parse_blocks(R"("epochs": 90, "lr_schedule": {"scaling": "sqrt", "warmup_lr": 0,
    "warmup_epochs": 5, "decay": "piecewise", "milestones": [30, 60.5], "factors": [0.1, 0]})");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->schedule.epochs, 90);
  EXPECT_EQ(config->schedule.warmup_lr, 0);
  EXPECT_EQ(config->schedule.milestones, (std::vector{30, 60.5}));
  EXPECT_EQ(config->schedule.factors, (std::vector{0.1, 0.0}));
  auto polynomial = parse_blocks(
      R"("lr_schedule": {"decay": "polynomial", "power": 2, "end_lr": 1e-4, "decay_epochs": 7})");
  ASSERT_TRUE(polynomial) << polynomial.error().what;
  EXPECT_EQ(polynomial->schedule.power, 2);
  EXPECT_EQ(polynomial->schedule.end_lr, 1e-4);
  EXPECT_EQ(polynomial->schedule.decay_epochs, 7);
  auto step = parse_blocks(R"("lr_schedule": {"decay": "step", "step_epochs": 30})");
  ASSERT_TRUE(step) << step.error().what;
  EXPECT_EQ(step->schedule.gamma, 0.1);
  auto inverse = parse_blocks(R"("lr_schedule": {"decay": "inverse-time", "decay_rate": 5e-6})");
  ASSERT_TRUE(inverse) << inverse.error().what;
  EXPECT_EQ(inverse->schedule.decay_rate, 5e-6);
}

TEST(ConfigChoices, ADecayReportsMissingAndUnknownOptions) {
  auto config = parse_blocks(R"("lr_schedule": {"decay": "step", "milestones": [3]})");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().what,
            "lr_schedule.step_epochs is missing: decay step needs it\n"
            "lr_schedule.milestones: decay step has no such key; it has gamma, step_epochs");
  auto none = parse_blocks(R"("lr_schedule": {"gamma": 0.5})");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().what, "lr_schedule.gamma: decay none has no such key");
}

TEST(ConfigChoices, RejectsIncompatibleSettings) {
  EXPECT_THAT(parse_blocks(R"("optimizer": {"nesterov": true})").error().what,
              HasSubstr("optimizer.nesterov needs a momentum above 0"));
  EXPECT_THAT(
      parse_blocks(R"("lr_schedule": {"decay": "piecewise", "milestones": [3, 1]})").error().what,
      HasSubstr("lr_schedule.milestones must ascend, not 3, 1"));
}

TEST(ConfigChoices, ListsAreCheckedItemByItem) {
  const auto what = [](const std::string& value) {
    return parse_blocks(R"("optimizer": {"name": "adam", "betas": )" + value + "}").error().what;
  };
  for (const char* value : {"[0.9]", "[0.9, 0.9, 0.9]", "[]", "0.9", "\"0.9\"", "[0.9, \"x\"]",
                            "{\"a\": 1}", "[0.9, null]", "[[0.9], 0.9]"}) {
    EXPECT_THAT(what(value), HasSubstr("optimizer.betas must be a list of 2 numbers or null"));
  }
  EXPECT_EQ(what("[0.9, 1]"), "optimizer.betas must be less than 1, not 1");
  EXPECT_EQ(what("[-0.1, 0.9]"), "optimizer.betas must be at least 0, not -0.1");
}

Json drawn_value(std::mt19937& random) {
  switch (random() % 9) {
    case 0:
      return nullptr;
    case 1:
      return random() % 2 == 0;
    case 2:
      return static_cast<double>(random() % 2000) / 500 - 1;
    case 3:
      return static_cast<int>(random() % 5) - 1;
    case 4:
      return optimizers()[random() % optimizers().size()].name;
    case 5:
      return lr_decays()[random() % lr_decays().size()].name;
    case 6:
      return Json::object();
    default:
      Json list = Json::array();
      for (auto count = random() % 4; count > 0; --count) {
        list.push_back(random() % 8 == 0 ? Json("x") : Json(static_cast<double>(random() % 100)));
      }
      return list;
  }
}

/// Random blocks: the result is an error with a message, or a configuration with finite rates whose
/// options the optimiser accepts.
TEST(ConfigChoices, AnyBlockIsAcceptedOrRejected) {
  std::vector<std::string> paths;
  for (const auto& key : config_keys()) {
    if (key.path.starts_with("optimizer.") || key.path.starts_with("lr_schedule.")) {
      paths.push_back(key.path);
    }
  }
  std::mt19937 random(11);
  int accepted = 0;
  for (int sample = 0; sample < 20000; ++sample) {
    Json document{{"model", "lenet"}};
    for (auto count = random() % 4; count > 0; --count) {
      const std::string& path = paths[random() % paths.size()];
      const auto dot = path.find('.');
      document[path.substr(0, dot)][path.substr(dot + 1)] = drawn_value(random);
    }
    if (random() % 50 == 0) document["optimizer"] = drawn_value(random);
    const auto config = parse_config(document.dump());
    if (!config) {
      EXPECT_FALSE(config.error().what.empty());
      continue;
    }
    ++accepted;
    const OptimizerEntry* entry = find_optimizer(config->optimizer);
    ASSERT_NE(entry, nullptr);
    EXPECT_TRUE(entry->problem == nullptr || entry->problem(config->optimizer_options).empty());
    for (const int step : {0, 1, 50, 1000}) {
      EXPECT_TRUE(
          std::isfinite(learning_rate(config->schedule, config->optimizer_options.lr, 3, 10, step)))
          << document.dump();
    }
  }
  EXPECT_GT(accepted, 2000);
}

}  // namespace
}  // namespace dllaunch

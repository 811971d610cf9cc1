// Compares our losses with PyTorch's on the same numbers, in double.
#include <gtest/gtest.h>

#include <random>

#include "support/json.hpp"
#include "tests/support/pytorch.hpp"
#include "tests/support/tier.hpp"
#include "tests/trainer/losses/loss_values.hpp"
#include "tests/trainer/scratch_folder.hpp"
#include "tests/trainer/training/run_program.hpp"

namespace dllaunch {
namespace {

constexpr int rows = 6;
constexpr int width = 7;

struct Asked {
  LossChoice choice;
  std::vector<double> outputs;
  OwnTargets targets;
};

std::vector<Asked> questions() {
  std::mt19937 random(17);
  std::normal_distribution<double> normal(0, 3);
  std::vector<Asked> all;
  for (const LossEntry& loss : losses()) {
    for (const double smoothing : {0.0, 0.1}) {
      if (smoothing > 0 && !loss.smooths) continue;
      for (const TargetKind kind : loss.targets) {
        Asked asked{.choice = {std::string(loss.name), smoothing}, .outputs = {}, .targets = {}};
        for (int i = 0; i < rows * width; ++i) {
          asked.outputs.push_back(normal(random));
          const auto value = static_cast<float>(normal(random));
          if (kind == TargetKind::values) asked.targets.values.push_back(value);
          if (kind == TargetKind::class_set) asked.targets.values.push_back(value > 0 ? 1.F : 0.F);
        }
        for (int i = 0; i < rows && kind == TargetKind::class_index; ++i) {
          asked.targets.labels.push_back(static_cast<std::int32_t>(random() % width));
        }
        all.push_back(std::move(asked));
      }
    }
  }
  return all;
}

template <typename Number>
Json table(const std::vector<Number>& numbers) {
  Json all = Json::array();
  for (std::size_t i = 0; i < numbers.size(); i += width) {
    all.push_back(std::vector<Number>(numbers.begin() + static_cast<std::ptrdiff_t>(i),
                                      numbers.begin() + static_cast<std::ptrdiff_t>(i) + width));
  }
  return all;
}

TEST(TorchLosses, AreOursInDouble) {
  if (quick_tier()) GTEST_SKIP() << "not with --quick: importing PyTorch takes seconds";
  if (!has_pytorch()) GTEST_SKIP() << no_pytorch;
  const auto all = questions();
  Json cases;
  for (const Asked& asked : all) {
    Json one{{"loss", asked.choice.name},
             {"smoothing", asked.choice.label_smoothing},
             {"outputs", table(asked.outputs)}};
    if (!asked.targets.labels.empty()) one["labels"] = asked.targets.labels;
    if (!asked.targets.values.empty()) one["values"] = table(asked.targets.values);
    cases.push_back(std::move(one));
  }
  const ScratchFolder folder;
  write_text(folder / "cases.json", cases.dump());
  const std::string script =
      std::string(DLLAUNCH_SOURCE_DIR) + "/tests/trainer/losses/torch_losses.py";
  const auto answered = run_program(
      {"sh", "-c", "/usr/bin/python3 \"$0\" < \"$1\"", script, (folder / "cases.json").string()});
  ASSERT_EQ(answered.exit_code, 0) << answered.output;
  const Json answers = Json::parse(answered.output.substr(answered.output.find('[')));
  ASSERT_EQ(answers.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(cases[i]["loss"].dump() + " " + cases[i]["smoothing"].dump());
    const auto ours = loss_of(all[i].choice, all[i].outputs, rows, all[i].targets);
    EXPECT_NEAR(ours.result.loss_sum / rows, answers[i]["loss"].get<double>(), 1e-13);
    for (std::size_t at = 0; at < ours.gradient.size(); ++at) {
      const double theirs = answers[i]["gradient"][at / width][at % width];
      EXPECT_NEAR(ours.gradient[at] / rows, theirs, 1e-14);
    }
  }
}

}  // namespace
}  // namespace dllaunch

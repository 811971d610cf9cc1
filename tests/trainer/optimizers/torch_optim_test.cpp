// Compares our steps with torch.optim's on the same numbers.
#include <gtest/gtest.h>

#include "support/json.hpp"
#include "tests/support/pytorch.hpp"
#include "tests/support/tier.hpp"
#include "tests/trainer/optimizers/following.hpp"
#include "tests/trainer/scratch_folder.hpp"
#include "tests/trainer/training/run_program.hpp"

namespace dllaunch {
namespace {

struct TorchCase {
  std::string ours;
  std::string theirs;
  OptimizerOptions options = {};
  Json their_options = Json::object();
  bool own_rate = false;  // uses the default rate of both
};

constexpr int steps = 20;

double gradient_of(int step, std::size_t i) {
  return gradient_at(step % 7, i) * (1 + 0.1 * step);
}

std::optional<double> rate_of(const TorchCase& tested, int step) {
  if (tested.own_rate) return std::nullopt;
  return tested.options.lr / (1 + 0.2 * (step % 4));
}

/// One case for each option, and each optimiser with its defaults.
std::vector<TorchCase> cases() {
  std::vector<TorchCase> all;
  for (const auto& [ours, theirs] :
       std::vector<std::pair<std::string, std::string>>{{"adam", "Adam"},
                                                        {"adamw", "AdamW"},
                                                        {"rmsprop", "RMSprop"},
                                                        {"adagrad", "Adagrad"},
                                                        {"adadelta", "Adadelta"}}) {
    all.push_back({ours, theirs, find_optimizer(ours)->defaults, Json::object(), true});
  }
  all.push_back({"sgd", "SGD", {.lr = 0.1}, {{"lr", 0.1}}});
  all.push_back({"sgd",
                 "SGD",
                 {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.05},
                 {{"lr", 0.1}, {"momentum", 0.9}, {"weight_decay", 0.05}}});
  all.push_back({"sgd",
                 "SGD",
                 {.lr = 0.1, .momentum = 0.8, .weight_decay = 0.05, .nesterov = true},
                 {{"lr", 0.1}, {"momentum", 0.8}, {"weight_decay", 0.05}, {"nesterov", true}}});
  for (const char* name : {"Adam", "AdamW"}) {
    const std::vector<double> betas{0.7, 0.9};
    all.push_back({name == std::string("Adam") ? "adam" : "adamw",
                   name,
                   {.lr = 0.01, .weight_decay = 0.2, .betas = {0.7, 0.9}, .eps = 1e-4},
                   {{"lr", 0.01}, {"weight_decay", 0.2}, {"betas", betas}, {"eps", 1e-4}}});
  }
  for (const bool centered : {false, true}) {
    for (const double momentum : {0.0, 0.9}) {
      all.push_back({"rmsprop",
                     "RMSprop",
                     {.lr = 0.001,
                      .momentum = momentum,
                      .weight_decay = 0.1,
                      .eps = 1e-4,
                      .alpha = 0.9,
                      .centered = centered},
                     {{"lr", 0.001},
                      {"momentum", momentum},
                      {"weight_decay", 0.1},
                      {"eps", 1e-4},
                      {"alpha", 0.9},
                      {"centered", centered}}});
    }
  }
  all.push_back({"adagrad",
                 "Adagrad",
                 {.lr = 0.05, .weight_decay = 0.1, .eps = 1e-6, .lr_decay = 0.1},
                 {{"lr", 0.05}, {"weight_decay", 0.1}, {"eps", 1e-6}, {"lr_decay", 0.1}}});
  all.push_back({"adadelta",
                 "Adadelta",
                 {.lr = 0.7, .weight_decay = 0.1, .eps = 1e-4, .rho = 0.8},
                 {{"lr", 0.7}, {"weight_decay", 0.1}, {"eps", 1e-4}, {"rho", 0.8}}});
  return all;
}

Json asked(const TorchCase& tested, const std::string& type) {
  Json json{{"name", tested.theirs}, {"options", tested.their_options}, {"type", type}};
  for (std::size_t i = 0; i < followed_elements; ++i) json["weights"].push_back(first_weight(i));
  for (int step = 0; step < steps; ++step) {
    Json gradients;
    for (std::size_t i = 0; i < followed_elements; ++i) gradients.push_back(gradient_of(step, i));
    json["gradients"].push_back(std::move(gradients));
    const auto rate = rate_of(tested, step);
    json["rates"].push_back(rate ? Json(*rate) : Json());
  }
  return json;
}

/// Returns the largest difference, relative to `scale` or 1.
template <typename Real>
double difference(const std::vector<Real>& ours, const Json& theirs) {
  double most = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double value = theirs[i];
    most = std::max(
        most, std::abs(static_cast<double>(ours[i]) - value) / std::max(1.0, std::abs(value)));
  }
  return most;
}

template <typename Real>
void compare(const TorchCase& tested, const Json& theirs, double bound) {
  const OptimizerEntry& entry = *find_optimizer(tested.ours);
  Followed<Real> ours(entry, tested.options);
  for (int step = 0; step < steps; ++step) {
    ours.step(step, {.lr = rate_of(tested, step).value_or(tested.options.lr), .step = step + 1},
              gradient_of);
    ASSERT_LT(difference(ours.weights, theirs["weights"][static_cast<std::size_t>(step)]), bound)
        << "step " << step;
  }
  const auto names = entry.states(tested.options);
  for (std::size_t s = 0; s < names.size(); ++s) {
    const std::string name(names[s]);
    ASSERT_TRUE(theirs["states"].contains(name)) << name;
    EXPECT_LT(difference(ours.states[s], theirs["states"][name]), bound) << name;
  }
}

TEST(TorchOptim, StepsAsOursInDoubleAndInSingle) {
  if (quick_tier()) GTEST_SKIP() << "not with --quick: importing PyTorch takes seconds";
  if (!has_pytorch()) GTEST_SKIP() << no_pytorch;
  Json questions;
  for (const auto& tested : cases()) {
    questions.push_back(asked(tested, "float64"));
    questions.push_back(asked(tested, "float32"));
  }
  const ScratchFolder folder;
  write_text(folder / "cases.json", questions.dump());
  const std::string script =
      std::string(DLLAUNCH_SOURCE_DIR) + "/tests/trainer/optimizers/torch_optim.py";
  const auto answered = run_program(
      {"sh", "-c", "/usr/bin/python3 \"$0\" < \"$1\"", script, (folder / "cases.json").string()});
  ASSERT_EQ(answered.exit_code, 0) << answered.output;
  const Json answers = Json::parse(answered.output.substr(answered.output.find('[')));
  const auto all = cases();
  ASSERT_EQ(answers.size(), 2 * all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(all[i].ours + " " + all[i].their_options.dump());
    compare<double>(all[i], answers[2 * i], 1e-12);
    compare<float>(all[i], answers[2 * i + 1], 5e-6);
  }
}

}  // namespace
}  // namespace dllaunch

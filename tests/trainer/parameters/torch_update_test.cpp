// Compares clipping, spared vectors and the average of the weights with PyTorch's, in double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "runtime/communicators/opening/communicators.hpp"
#include "support/json.hpp"
#include "tests/support/pytorch.hpp"
#include "tests/support/tier.hpp"
#include "tests/trainer/scratch_folder.hpp"
#include "tests/trainer/training/run_program.hpp"
#include "trainer/backends/table/backends.hpp"
#include "trainer/parameters/parameter_arenas.hpp"

namespace dllaunch {
namespace {

constexpr int steps = 20;

std::vector<double> doubles_of(const Tensor& tensor) {
  std::vector<double> values(tensor.data.size() / sizeof(double));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

/// Nested lists of a parameter's shape, which has one or two dimensions here.
Json shaped(const std::vector<double>& values, const Shape& shape) {
  if (shape.size() < 2) return values;
  Json rows = Json::array();
  const auto width = values.size() / static_cast<std::size_t>(shape[0]);
  for (std::size_t at = 0; at < values.size(); at += width) {
    const auto row = values.begin() + static_cast<std::ptrdiff_t>(at);
    rows.push_back(std::vector<double>(row, row + static_cast<std::ptrdiff_t>(width)));
  }
  return rows;
}

std::vector<double> flat(const Json& values) {
  if (values.empty() || !values[0].is_array()) return values.get<std::vector<double>>();
  std::vector<double> all;
  for (const Json& row : values) {
    for (const Json& value : row) all.push_back(value.get<double>());
  }
  return all;
}

/// Some steps below the bound and some above it.
double gradient(int step, int slot, std::size_t i) {
  return std::sin(1.7 * static_cast<double>(i) + slot + step) * (step % 3 == 0 ? 0.01 : 1.0);
}

struct Trained {
  Json question;
  std::vector<double> norms;
  std::vector<Tensor> weights;
  std::vector<Tensor> averages;
};

/// A network with matrices and vectors.
Trained train_ours() {
  GraphBuilder net("m", {7});
  net.add("fc1", Dense{.units = 5});
  net.add("fc2", Dense{.units = 3});
  const Graph graph = *std::move(net).finish();
  const auto backend = *backends().back().open();
  const auto executable =
      *backend->compile(graph, {.batch = 1, .precision = Precision::fp64, .threads = 1});
  const auto communicator = *open_communicator("solo", RankEnv{});
  const OptimizerOptions adamw{.lr = 0.01, .weight_decay = 0.1, .betas = {0.9, 0.95}, .eps = 1e-8};
  ParameterArenas arenas(*executable, *communicator, *find_optimizer("adamw"), adamw,
                         {.clip_norm = 1.0, .average_decay = 0.9, .decay_vectors = false});
  arenas.initialise(graph, 3);
  arenas.begin_average();
  Trained ours;
  ours.question = {{"lr", 0.01},          {"betas", {0.9, 0.95}}, {"eps", 1e-8},
                   {"weight_decay", 0.1}, {"clip_norm", 1.0},     {"ema_decay", 0.9}};
  for (const Tensor& tensor : arenas.weights()) {
    ours.question["parameters"].push_back(shaped(doubles_of(tensor), tensor.shape));
  }
  for (int step = 0; step < steps; ++step) {
    Json all = Json::array();
    for (int slot = 0; slot < std::ssize(executable->slots()); ++slot) {
      const auto& of = executable->slots()[static_cast<std::size_t>(slot)];
      std::vector<double> values(static_cast<std::size_t>(elements_of(of.shape)));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = gradient(step, slot, i);
      executable->from_plain(slot, values.data(), arenas.layout().at(arenas.gradients(), slot));
      all.push_back(shaped(values, of.shape));
    }
    ours.question["gradients"].push_back(std::move(all));
    ours.norms.push_back(arenas.gradient_norm());
    arenas.update({.lr = 0.01, .step = step + 1});
  }
  ours.weights = arenas.weights();
  arenas.exchange_average();
  ours.averages = arenas.weights();
  return ours;
}

TEST(TorchUpdate, ClipsSparesVectorsAndAveragesAsOurs) {
  if (quick_tier()) GTEST_SKIP() << "not with --quick: importing PyTorch takes seconds";
  if (!has_pytorch()) GTEST_SKIP() << no_pytorch;
  const Trained ours = train_ours();
  const ScratchFolder folder;
  write_text(folder / "question", ours.question.dump());
  const std::string script = DLLAUNCH_SOURCE_DIR "/tests/trainer/parameters/torch_update.py";
  const auto asked = run_program(
      {"sh", "-c", "/usr/bin/python3 \"$0\" < \"$1\"", script, (folder / "question").string()});
  ASSERT_EQ(asked.exit_code, 0) << asked.output;
  const Json theirs = Json::parse(asked.output.substr(asked.output.find('{')));
  int clipped = 0;
  for (std::size_t step = 0; step < ours.norms.size(); ++step) {
    const double norm = theirs["norms"][step].get<double>();
    EXPECT_NEAR(ours.norms[step], norm, 1e-12 * norm);
    clipped += norm > 1 ? 1 : 0;
  }
  EXPECT_GT(clipped, 5);
  EXPECT_LT(clipped, steps - 5);
  for (std::size_t t = 0; t < ours.weights.size(); ++t) {
    const auto compare = [&](const Tensor& tensor, const Json& expected) {
      const auto values = doubles_of(tensor);
      const auto wanted = flat(expected);
      ASSERT_EQ(values.size(), wanted.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_NEAR(values[i], wanted[i], 1e-10) << tensor.name << " " << i;
      }
    };
    compare(ours.weights[t], theirs["weights"][t]);
    compare(ours.averages[t], theirs["averages"][t]);
  }
}

}  // namespace
}  // namespace dllaunch

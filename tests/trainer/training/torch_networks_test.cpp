// One step of whole networks, compared with PyTorch from the same weights and images.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/backends/usable_backends.hpp"
#include "tests/trainer/training/torch_question.hpp"
#include "trainer/models/models.hpp"

namespace dllaunch {
namespace {

struct NetworkCase {
  std::string model;
  ImageShape image;
  int batch;
};

void PrintTo(const NetworkCase& one, std::ostream* out) {
  *out << one.model;
}

double sum_of_squares(const std::vector<double>& values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

double sum_of_squares(const Tensors& tensors) {
  double sum = 0;
  for (const auto& tensor : tensors) sum += sum_of_squares(tensor);
  return sum;
}

/// A bias before a normalisation has no gradient, only rounding errors.
bool vanishes(const std::vector<double>& gradient, double squares_of_all) {
  return sum_of_squares(gradient) < 1e-20 * squares_of_all;
}

/// Distance of gradients from float64: over all parameters, and of the worst parameter.
struct Distance {
  double together = 0;
  double farthest = 0;
  double loss = 0;
};

Distance distance(const Tensors& from, const Tensors& exact) {
  Distance result;
  double squares = 0;
  const double all = sum_of_squares(exact);
  for (std::size_t p = 0; p < exact.size(); ++p) {
    for (std::size_t i = 0; i < exact[p].size(); ++i) {
      squares += (from[p][i] - exact[p][i]) * (from[p][i] - exact[p][i]);
    }
    if (vanishes(exact[p], all)) continue;
    result.farthest = std::max(result.farthest, relative_error(from[p], exact[p]));
  }
  result.together = std::sqrt(squares / all);
  return result;
}

class TorchNetworks : public testing::TestWithParam<NetworkCase> {
 protected:
  void SetUp() override {
    const ModelEntry& model = *find_model(GetParam().model);
    graph_ = *model.build(GetParam().image, 10);
    weights_ = random_weights(graph_);
    images_ = std::make_unique<Images>(graph_, GetParam().batch);
    TorchQuestion question(graph_, weights_);
    question.add_images(graph_, images_->pixels, images_->labels);
    theirs_ = question.ask({"gradients", GetParam().model});
    if (theirs_ == nullptr)
      GTEST_SKIP() << "/usr/bin/python3 cannot import torch: scripts/install-deps --test";
    exact_ = gradients_of("f64");
  }

  Tensors gradients_of(const std::string& kind) const {
    Tensors tensors;
    for (const Parameter& parameter : graph_.parameters) {
      tensors.push_back((*theirs_)[kind + ":gradient:" + parameter.name]);
    }
    return tensors;
  }

  /// Relative, from float64.
  double loss_error(double loss) const {
    const double exact = (*theirs_)["f64:loss"][0];
    return std::abs(loss - exact) / exact;
  }

  /// Returns a step's mean loss; fills `gradients`.
  double step(Compiled& compiled, Tensors& gradients) const {
    compiled.set_weights(weights_);
    const int batch = GetParam().batch;
    const double loss = compiled->forward(images_->batch(), Phase::train).loss_sum / batch;
    compiled->backward(1.0 / batch, false, [](int) {});
    gradients = compiled.gradients();
    return loss;
  }

  void compare_in_double() const;
  void compare_in_single() const;

  Graph graph_;
  Tensors weights_;
  std::unique_ptr<Images> images_;
  std::unique_ptr<TorchAnswer> theirs_;
  Tensors exact_;
};

void TorchNetworks::compare_in_double() const {
  Compiled ours(backend_named("reference"), graph_,
                {.batch = GetParam().batch, .precision = Precision::fp64});
  Tensors gradients;
  const double loss = step(ours, gradients);
  EXPECT_NEAR(loss, (*theirs_)["f64:loss"][0], 1e-12 * loss);
  EXPECT_LT(relative_error(ours->logits(), (*theirs_)["f64:logits"]), 1e-10);
  const double all = sum_of_squares(exact_);
  for (std::size_t p = 0; p < exact_.size(); ++p) {
    const std::string& name = graph_.parameters[p].name;
    if (vanishes(exact_[p], all)) {
      EXPECT_TRUE(vanishes(gradients[p], all)) << name;
    } else {
      EXPECT_LT(relative_error(gradients[p], exact_[p]), 1e-8) << name;
    }
  }
  for (std::size_t i = 0; i < graph_.buffers.size(); ++i) {
    const std::string& name = graph_.buffers[i].name;
    EXPECT_LT(relative_error(ours->buffer(static_cast<int>(i)), (*theirs_)["f64:buffer:" + name]),
              1e-10)
        << name;
  }
}

void TorchNetworks::compare_in_single() const {
  Distance theirs;
  for (const char* kind : {"f32", "f32_channels_last"}) {
    const Distance of_kind = distance(gradients_of(kind), exact_);
    theirs.together = std::max(theirs.together, of_kind.together);
    theirs.farthest = std::max(theirs.farthest, of_kind.farthest);
    theirs.loss = std::max(theirs.loss, loss_error((*theirs_)[std::string(kind) + ":loss"][0]));
  }
  const BackendEntry& backend = usable_backends()[0];
  // winograd_test.cpp tests the less accurate Winograd convolutions.
  Compiled ours(
      backend, graph_,
      {.batch = GetParam().batch, .threads = 1, .convolution = ConvolutionAlgorithm::direct});
  Tensors gradients;
  const double loss = step(ours, gradients);
  const Distance mine = distance(gradients, exact_);
  std::printf(
      "gradients of %s from float64: %s %.1e, farthest %.1e, loss %.1e; PyTorch %.1e, %.1e, %.1e\n",
      GetParam().model.c_str(), std::string(backend.name).c_str(), mine.together, mine.farthest,
      loss_error(loss), theirs.together, theirs.farthest, theirs.loss);
  EXPECT_LT(loss_error(loss), std::max(1e-5, 2 * theirs.loss));
  EXPECT_LT(mine.together, 2 * theirs.together);
  EXPECT_LT(mine.farthest, 2 * theirs.farthest);
}

/// `reference` in double matches PyTorch's float64, and single precision is as close to it as
/// PyTorch's.
TEST_P(TorchNetworks, ComputeTheSameStep) {
  compare_in_double();
  compare_in_single();
}

INSTANTIATE_TEST_SUITE_P(Models, TorchNetworks,
                         testing::Values(NetworkCase{"cnn", {1, 28, 28}, 8},
                                         NetworkCase{"resnet50", {3, 32, 32}, 8},
                                         NetworkCase{"resnet50v2", {3, 32, 32}, 8},
                                         NetworkCase{"gpt2-tiny", {1, 1, 48}, 4},
                                         NetworkCase{"vit-tiny", {3, 16, 12}, 4}),
                         [](const auto& one) {
                           std::string name = one.param.model;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace dllaunch

// Twenty steps on every backend compared with `reference`, from the same images and weights: shows
// errors that a single operation does not (momentum, weight decay, accumulation).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/trainer/backends/usable_backends.hpp"
#include "tests/trainer/training/small_training.hpp"

namespace dllaunch {
namespace {

TrainConfig twenty_steps(const std::string& model, const std::string& backend,
                         Precision precision) {
  TrainConfig config = small_config(backend);
  config.model = model;
  if (model.starts_with("gpt2")) {
    config.data.sequence = 24;
    config.data.classes = 50;
  }
  config.precision = precision;
  config.data.images = 96;
  config.batch_size = 8;
  config.epochs = 2;
  config.max_steps = 20;
  config.validate_every = 0;
  return config;
}

/// Empty if this CPU or GPU does not have the precision, which fp32 always is.
std::vector<double> losses_of(const std::string& model, const std::string& backend,
                              Precision precision) {
  const ScratchFolder folder;
  const auto trained = train_alone(twenty_steps(model, backend, precision), folder.path());
  if (trained) return trained->losses;
  const bool lacking = trained.error().kind == ErrorKind::unavailable;
  EXPECT_TRUE(lacking && precision != Precision::fp32) << trained.error().what;
  std::printf("skipped: %s\n", trained.error().what.c_str());
  return {};
}

class TwentyLosses : public testing::TestWithParam<BackendEntry> {
 protected:
  void compare_with_reference(const std::string& model) const;
};

/// Relative tolerance of a loss. In single precision only the order of sums differs (4e-7 is
/// usual); TF32 keeps 10 bits of each factor, bfloat16 has 8 everywhere, and truncating the rest
/// costs 1 %.
double tolerance(Precision precision) {
  return precision == Precision::fp32 ? 1e-4 : 5e-2;
}

void TwentyLosses::compare_with_reference(const std::string& model) const {
  const std::vector<double> wanted = losses_of(model, "reference", Precision::fp32);
  ASSERT_EQ(wanted.size(), 20U);
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16}) {
    if (std::ranges::find(GetParam().precisions, precision) == GetParam().precisions.end()) {
      continue;
    }
    SCOPED_TRACE(to_string(precision));
    const std::vector<double> seen = losses_of(model, std::string(GetParam().name), precision);
    if (seen.empty()) continue;
    ASSERT_EQ(seen.size(), wanted.size());
    double most = 0;
    for (std::size_t step = 0; step < wanted.size(); ++step) {
      most = std::max(most, std::abs(seen[step] - wanted[step]) / wanted[step]);
    }
    std::printf("%s on %s, %s: at most %.2g of a loss\n", model.c_str(),
                std::string(GetParam().name).c_str(), std::string(to_string(precision)).c_str(),
                most);
    EXPECT_LT(most, tolerance(precision));
  }
}

TEST_P(TwentyLosses, MatchReference) {
  compare_with_reference("lenet");
}

TEST_P(TwentyLosses, OfTransformersMatchReference) {
  compare_with_reference("gpt2-tiny");
  compare_with_reference("vit-tiny");
}

INSTANTIATE_TEST_SUITE_P(Backends, TwentyLosses, testing::ValuesIn(compared(usable_backends())),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace dllaunch

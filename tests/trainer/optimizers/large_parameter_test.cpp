// Parameters of more than 2^31 elements. DLLAUNCH_TEST_FULL=1 tests every optimiser.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "tests/support/tier.hpp"
#include "trainer/optimizers/optimizer.hpp"

namespace dllaunch {
namespace {

constexpr std::size_t elements = (std::size_t{1} << 31) + 77;
constexpr std::size_t window = std::size_t{1} << 24;  // floats; a multiple of the page size

/// `elements` floats of address space: 64 MiB of memory mapped repeatedly, or, without a window,
/// zero pages that take no memory until they are written.
class Space {
 public:
  explicit Space(bool windows) {
    bytes_ = (elements + window - 1) / window * window * sizeof(float);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* reserved = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (reserved == MAP_FAILED) return;
    floats_ = static_cast<float*>(reserved);
    if (!windows) return;
    const int memory = memfd_create("window", 0);
    constexpr std::size_t size = window * sizeof(float);
    bool good = ftruncate(memory, size) == 0;
    for (std::size_t at = 0; at < bytes_ && good; at += size) {
      void* here = static_cast<std::byte*>(reserved) + at;
      good = mmap(here, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory, 0) == here;
    }
    close(memory);
    if (!good) ADD_FAILURE() << "no memory mapped";
  }
  ~Space() {
    if (floats_ != nullptr) munmap(floats_, bytes_);
  }
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;

  float* floats() const { return floats_; }

 private:
  std::size_t bytes_ = 0;
  float* floats_ = nullptr;
};

const StepInfo now{.lr = 0.1, .step = 3, .epoch = 1, .previous_lr = 0.1};

/// Returns the weight after an update of a single element.
float updated_alone(const OptimizerEntry& entry, const OptimizerOptions& options, float weight,
                    float gradient) {
  std::vector<float> states(entry.states(options).size());
  std::vector<void*> pointers;
  for (float& state : states) pointers.push_back(&state);
  ParameterUpdate slot{
      .elements = 1, .weights = &weight, .gradients = &gradient, .states = pointers};
  slot.weight_norm = 2;
  slot.gradient_norm = 3;
  entry.update(DType::f32, options, now, slot);
  return weight;
}

/// Only the last element has a gradient: no element may be skipped or updated twice.
void expect_last_updated(const OptimizerEntry& entry) {
  OptimizerOptions options = entry.defaults;
  options.weight_decay = 0;
  if (options.momentum == 0) options.momentum = 0.9;
  const Space weights(true);
  const Space gradients(false);
  std::vector<std::unique_ptr<Space>> states;
  std::vector<void*> pointers;
  for (std::size_t i = 0; i < entry.states(options).size(); ++i) {
    states.push_back(std::make_unique<Space>(true));
    pointers.push_back(states.back()->floats());
  }
  if (weights.floats() == nullptr || gradients.floats() == nullptr) {
    GTEST_SKIP() << "less than 9 GB of address space";
  }
  for (std::size_t i = 0; i < window; ++i) weights.floats()[i] = 0.5F;
  gradients.floats()[elements - 1] = 0.25F;
  ParameterUpdate slot{.elements = elements,
                       .weights = weights.floats(),
                       .gradients = gradients.floats(),
                       .states = pointers};
  slot.weight_norm = 2;
  slot.gradient_norm = 3;
  entry.update(DType::f32, options, now, slot);
  const std::size_t last = (elements - 1) % window;
  for (std::size_t i = 0; i < window; ++i) {
    const float expected = i == last ? updated_alone(entry, options, 0.5F, 0.25F) : 0.5F;
    ASSERT_EQ(weights.floats()[i], expected) << entry.name << ", " << i;
  }
  EXPECT_NE(weights.floats()[last], 0.5F) << entry.name;
}

TEST(LargeParameter, IsUpdatedToItsEnd) {
  if (quick_tier()) GTEST_SKIP() << "not with --quick: 2^31 elements take four seconds";
  const bool full = full_tier();
  for (const OptimizerEntry& entry : optimizers()) {
    if (full || entry.name == "sgd") expect_last_updated(entry);
  }
}

/// Norms cover the whole parameter.
TEST(LargeParameter, IsMeasuredToItsEnd) {
  if (!full_tier()) GTEST_SKIP() << "DLLAUNCH_TEST_FULL=1";
  const OptimizerEntry& lars = *find_optimizer("lars");
  const Space weights(false);
  const Space gradients(false);
  for (const std::size_t at : {std::size_t{0}, elements / 2, elements - 1}) {
    weights.floats()[at] = 3;
    gradients.floats()[at] = 2;
  }
  const SquareSums sums = lars.measure(
      DType::f32, lars.defaults, now,
      {.elements = elements, .weights = weights.floats(), .gradients = gradients.floats()});
  EXPECT_EQ(sums.weights, 27);
  EXPECT_EQ(sums.gradients, 12);
}

}  // namespace
}  // namespace dllaunch

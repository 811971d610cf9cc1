// GPU specifics, on the host in place of a GPU: device memory, running out of it, bfloat16. The
// common contract is in backend_test.cpp, which the same program runs.
#include "trainer/backends/gpu/step/gpu_executable.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <thread>

#include "tests/support/host_gpu/host_math.hpp"
#include "tests/trainer/backends/compiled.hpp"
#include "tests/trainer/backends/gpu/device_arena.hpp"
#include "tests/trainer/backends/operation_cases.hpp"
#include "trainer/backends/gpu/memory/device_memory.hpp"

namespace dllaunch::gpu {
namespace {

using testing::HasSubstr;

Graph residual_graph() {
  for (const OperationCase& one : operation_cases()) {
    if (one.name == "block_with_projection") return one.graph();
  }
  return {};
}

struct Outcome {
  double loss = 0;
  Tensors gradients;
};

/// One step with arenas on the device.
Outcome step_on_device(const Graph& graph, const Images& images, int batch) {
  const auto math = make_host_math();
  auto executable = compile_for_gpu("host_gpu", graph, {.batch = batch}, *math);
  if (!executable) return {};
  const auto& slots = (*executable)->slots();
  const DeviceArena weights(slots);
  const DeviceArena gradients(slots);
  (*executable)->attach(weights.pieces(), gradients.pieces());
  const Tensors values = random_weights(graph);
  for (std::size_t s = 0; s < slots.size(); ++s) {
    const auto& plain = values[static_cast<std::size_t>(slots[s].parameter)];
    const std::vector<float> rounded(plain.begin(), plain.end());
    (*executable)->from_plain(static_cast<int>(s), rounded.data(), weights.pieces()[s]);
  }
  Outcome outcome;
  outcome.loss = (*executable)->forward(images.batch(), Phase::train).loss_sum;
  (*executable)->backward(1, false, [](int) {});
  outcome.gradients.resize(graph.parameters.size());
  for (std::size_t s = 0; s < slots.size(); ++s) {
    std::vector<float> plain(slots[s].elements);
    (*executable)->to_plain(static_cast<int>(s), gradients.pieces()[s], plain.data());
    outcome.gradients[static_cast<std::size_t>(slots[s].parameter)] = {plain.begin(), plain.end()};
  }
  executable->reset();
  return outcome;
}

TEST(GpuExecutable, ArenasOnTheDeviceAndOnTheHostGiveTheSameBits) {
  const Graph graph = residual_graph();
  const Images images(graph, 4);
  Compiled on_host(backend_named("host_gpu"), graph, {.batch = 4});
  on_host.set_weights(random_weights(graph));
  const double loss = on_host->forward(images.batch(), Phase::train).loss_sum;
  on_host->backward(1, false, [](int) {});
  const Outcome on_device = step_on_device(graph, images, 4);
  EXPECT_EQ(on_device.loss, loss);
  EXPECT_EQ(on_device.gradients, on_host.gradients());
}

TEST(GpuExecutable, AllocatesNothingAfterTheFirstStep) {
  const Graph graph = residual_graph();
  const Images images(graph, 4);
  Compiled compiled(backend_named("host_gpu"), graph, {.batch = 4});
  compiled.set_weights(random_weights(graph));
  const auto step = [&] {
    compiled->forward(images.batch(), Phase::train);
    compiled->backward(1, false, [](int) {});
    compiled->forward(images.batch(2), Phase::evaluate);
  };
  step();
  const std::size_t before = host_gpus().allocations;
  for (int again = 0; again < 3; ++again) step();
  EXPECT_EQ(host_gpus().allocations, before);
}

TEST(GpuExecutable, GivesAllItsMemoryBack) {
  const std::size_t before = host_gpus().in_use[0];
  const Graph graph = residual_graph();
  step_on_device(graph, Images(graph, 4), 4);
  EXPECT_EQ(host_gpus().in_use[0], before);
}

TEST(GpuExecutable, RefusesAWindowWhosePlacesItCannotStore) {
  GraphBuilder net("m", {1, 257, 257});
  net.add("pool", MaxPool2d{.kernel = 257, .stride = 257});
  net.add("flatten", Flatten{});
  net.add("fc", Dense{.units = 2});
  const auto math = make_host_math();
  const auto refused = compile_for_gpu("host_gpu", *std::move(net).finish(), {.batch = 1}, *math);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("pool: its window has 66049 elements"));
}

TEST(GpuExecutable, SaysWhatWouldFit) {
  const Graph graph = residual_graph();
  const auto math = make_host_math();
  const std::size_t all = host_gpus().bytes_each;
  host_gpus().bytes_each = host_gpus().in_use[0] + (std::size_t{1} << 20);
  std::string said;
  int fits = 0;
  try {
    static_cast<void>(compile_for_gpu("host_gpu", graph, {.batch = 4096}, *math));
  } catch (const std::bad_alloc& refused) {
    said = refused.what();
  }
  EXPECT_THAT(said, HasSubstr("batch_size 4096 needs "));
  EXPECT_THAT(said, HasSubstr("GiB of GPU memory, 0.00 GiB are free; about "));
  const auto at = said.find("about ");
  if (at != std::string::npos) fits = std::stoi(said.substr(at + 6));
  EXPECT_GT(fits, 0);
  // The suggested batch must fit, with a margin of a tenth for memory that does not grow with it.
  EXPECT_NO_THROW(static_cast<void>(
      compile_for_gpu("host_gpu", graph, {.batch = std::max(1, fits * 9 / 10)}, *math)));
  host_gpus().bytes_each = all;
}

/// A library that must not try engines.
struct NeverAsked : MathLibrary {
  Result<std::unique_ptr<Convolution>> convolution(const ConvolutionShape&) override {
    asked = true;
    return Error{ErrorKind::unavailable, "asked", ""};
  }
  Result<std::unique_ptr<Matmul>> matmul(const MatmulShape&) override {
    asked = true;
    return Error{ErrorKind::unavailable, "asked", ""};
  }
  bool asked = false;
};

TEST(GpuExecutable, ABatchWithoutMemoryIsRefusedBeforeTheLibraryIsAsked) {
  const Graph graph = residual_graph();
  NeverAsked library;
  const std::size_t all = host_gpus().bytes_each;
  host_gpus().bytes_each = host_gpus().in_use[0] + (std::size_t{1} << 20);
  EXPECT_THROW(static_cast<void>(compile_for_gpu("host_gpu", graph, {.batch = 4096}, library)),
               OutOfGpuMemory);
  EXPECT_FALSE(library.asked);
  host_gpus().bytes_each = all;
  EXPECT_FALSE(compile_for_gpu("host_gpu", graph, {.batch = 4}, library));
  EXPECT_TRUE(library.asked);
}

/// Arenas on the host need copies on the device; a smaller batch leaves room for them.
TEST(GpuExecutable, SaysWhatWouldFitBesideCopiesOfTheParameters) {
  const Graph graph = residual_graph();
  const auto math = make_host_math();
  const std::size_t all = host_gpus().bytes_each;
  auto executable = *compile_for_gpu("host_gpu", graph, {.batch = 64}, *math);
  std::vector<std::vector<float>> host;
  std::vector<void*> pieces;
  for (const ParameterSlot& slot : executable->slots()) {
    host.emplace_back(slot.elements);
    pieces.push_back(host.back().data());
  }
  host_gpus().bytes_each = host_gpus().in_use[0] + 256;
  std::string said;
  try {
    executable->attach(pieces, pieces);
  } catch (const std::bad_alloc& refused) {
    said = refused.what();
  }
  host_gpus().bytes_each = all;
  EXPECT_THAT(said, HasSubstr("a copy of the parameters needs 1 MiB of GPU memory, 0 MiB are free "
                              "beside batches of 64 images; about "));
}

/// A rank given another device's arenas dies with a message.
TEST(GpuExecutableDeathTest, MemoryOfAnotherDeviceIsNotTouched) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto wrong = [] {
    host_gpus().pci = {"0000:01:00.0", "0000:02:00.0"};
    const Graph graph = residual_graph();
    const auto math = make_host_math();
    auto executable = compile_for_gpu("host_gpu", graph, {.batch = 2}, *math);
    static_cast<void>(gpu_set_device(1));
    const DeviceArena weights((*executable)->slots());
    const std::vector<float> ones(4096, 1.F);
    static_cast<void>(gpu_set_device(0));
    (*executable)->from_plain(0, ones.data(), weights.pieces().front());
  };
  EXPECT_EXIT(wrong(), testing::ExitedWithCode(70), "memory of another device");
}

/// Dies where the launch is made, before a gradient that lacks it is reported.
TEST(GpuExecutableDeathTest, AFailedLaunchIsFatalAndNamesItsKernel) {
  const Graph graph = residual_graph();
  const Images images(graph, 2);
  const auto math = make_host_math();
  auto executable = *compile_for_gpu("host_gpu", graph, {.batch = 2}, *math);
  const DeviceArena weights(executable->slots());
  const DeviceArena gradients(executable->slots());
  executable->attach(weights.pieces(), gradients.pieces());
  const auto step = [&] {
    executable->forward(images.batch(), Phase::train);
    // Libraries and queries clear the last error in between.
    executable->backward(1, false, [](int) { gpu_clear_error(); });
  };
  // Before the second step, which captures: there a failure ends only the capture.
  for (const int launches : {0, 3, 12}) {
    const auto fail = [&] {
      host_gpus().launches_until_failure = launches;
      step();
    };
    EXPECT_EXIT(fail(), testing::ExitedWithCode(70),
                "host: kernel dllaunch::gpu::[A-Za-z]+<.*: launch failed");
  }
}

/// Rounds the inputs of products to 10 mantissa bits, and nothing else.
TEST(GpuExecutable, Tf32RoundsWhatLibrariesMultiply) {
  const Graph graph = residual_graph();
  const Images images(graph, 5);
  Compiled single(backend_named("host_gpu"), graph, {.batch = 5});
  Compiled rounded(backend_named("host_gpu"), graph, {.batch = 5, .precision = Precision::tf32});
  const auto step = [&](Compiled& of) {
    of.set_weights(random_weights(graph));
    of->forward(images.batch(), Phase::train);
    of->backward(1, false, [](int) {});
  };
  step(single);
  step(rounded);
  EXPECT_NE(rounded->logits(), single->logits());
  EXPECT_LT(relative_error(rounded->logits(), single->logits()), 0.01);
  const Tensors exact = single.gradients();
  const Tensors near = rounded.gradients();
  for (std::size_t p = 0; p < exact.size(); ++p) {
    EXPECT_NE(near[p], exact[p]) << graph.parameters[p].name;
    EXPECT_LT(relative_error(near[p], exact[p]), 0.05) << graph.parameters[p].name;
  }
}

/// Compared with fp32, within the precision of 8 and 11 significant bits.
TEST(GpuExecutable, HalvesAreNearFp32) {
  const std::pair<Precision, double> halves[] = {{Precision::bf16, 0.06}, {Precision::fp16, 0.01}};
  for (const auto& [precision, tolerance] : halves) {
    for (const OperationCase& one : operation_cases()) {
      SCOPED_TRACE(one.name + (" " + std::string(to_string(precision))));
      const Graph graph = one.graph();
      const Images images(graph, 5);
      Compiled single(backend_named("host_gpu"), graph, {.batch = 5});
      Compiled half(backend_named("host_gpu"), graph, {.batch = 5, .precision = precision});
      single.set_weights(random_weights(graph));
      half.set_weights(random_weights(graph));
      const double wanted = single->forward(images.batch(), Phase::evaluate).loss_sum;
      EXPECT_NEAR(half->forward(images.batch(), Phase::evaluate).loss_sum, wanted, 0.05 * wanted);
      single->forward(images.batch(), Phase::train);
      half->forward(images.batch(), Phase::train);
      EXPECT_LT(relative_error(half->logits(), single->logits()), tolerance);
      half->backward(1, false, [](int) {});
      for (const auto& gradient : half.gradients()) {
        for (const double value : gradient) ASSERT_TRUE(std::isfinite(value));
      }
    }
  }
}

}  // namespace
}  // namespace dllaunch::gpu

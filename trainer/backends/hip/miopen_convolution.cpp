#include "trainer/backends/hip/miopen_convolution.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/backends/gpu/layers/convolution_extents.hpp"

namespace dllaunch::miopen {
namespace {

using gpu::ConvolutionShape;
using gpu::Pass;

/// Since this version, float convolutions may use TF32 unless the attribute `math_type` forbids it.
/// Older headers do not define the attribute.
constexpr int tf32_since = 30502;
constexpr int math_type = 3;
constexpr int pedantic = 1;

miopenDataType_t type_of(DType type) {
  if (type == DType::f16) return miopenHalf;
  return type == DType::bf16 ? miopenBFloat16 : miopenFloat;
}

Error refusal(std::string_view call, miopenStatus_t status) {
  return {ErrorKind::unavailable, fmt::format("MIOpen: {}: {}", call, miopenGetErrorString(status)),
          ""};
}

template <typename Raw, miopenStatus_t (*create)(Raw*), miopenStatus_t (*destroy)(Raw)>
class Descriptor {
 public:
  Descriptor() { status_ = create(&raw_); }
  ~Descriptor() {
    if (raw_ != nullptr) destroy(raw_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Raw raw() const { return raw_; }
  miopenStatus_t status() const { return status_; }

 private:
  Raw raw_ = nullptr;
  miopenStatus_t status_ = miopenStatusSuccess;
};
using Tensor = Descriptor<miopenTensorDescriptor_t, miopenCreateTensorDescriptor,
                          miopenDestroyTensorDescriptor>;
using Window = Descriptor<miopenConvolutionDescriptor_t, miopenCreateConvolutionDescriptor,
                          miopenDestroyConvolutionDescriptor>;

/// Returns the numbers as int, which MIOpen uses; nullopt if one does not fit.
std::optional<std::vector<int>> ints_of(const std::vector<std::int64_t>& numbers) {
  std::vector<int> ints;
  for (const std::int64_t number : numbers) {
    if (number > std::numeric_limits<int>::max()) return std::nullopt;
    ints.push_back(static_cast<int>(number));
  }
  return ints;
}

/// Which tensor an array is: x, weights or y, or its gradient.
enum class Role { x, w, y };

/// MIOpen's functions for one pass. Each takes two input tensors and one output, in the pass's
/// order.
struct Calls {
  decltype(&miopenConvolutionForwardGetSolutionCount) count;
  decltype(&miopenConvolutionForwardGetSolution) solutions;
  decltype(&miopenConvolutionForwardCompileSolution) compile;
  decltype(&miopenConvolutionForwardImmediate) run;
  Role first;
  Role second;
  Role result;
};
const Calls& calls_of(Pass pass) {
  static const Calls forward{miopenConvolutionForwardGetSolutionCount,
                             miopenConvolutionForwardGetSolution,
                             miopenConvolutionForwardCompileSolution,
                             miopenConvolutionForwardImmediate,
                             Role::w,
                             Role::x,
                             Role::y};
  static const Calls data{miopenConvolutionBackwardDataGetSolutionCount,
                          miopenConvolutionBackwardDataGetSolution,
                          miopenConvolutionBackwardDataCompileSolution,
                          miopenConvolutionBackwardDataImmediate,
                          Role::y,
                          Role::w,
                          Role::x};
  static const Calls weights{miopenConvolutionBackwardWeightsGetSolutionCount,
                             miopenConvolutionBackwardWeightsGetSolution,
                             miopenConvolutionBackwardWeightsCompileSolution,
                             miopenConvolutionBackwardWeightsImmediate,
                             Role::y,
                             Role::x,
                             Role::w};
  if (pass == Pass::forward) return forward;
  return pass == Pass::backward_data ? data : weights;
}

/// Whether the order of sums is the same in every run; MIOpen lists more solutions if it need not.
enum class Sums { ordered, unordered };

/// The number alone if its sums are ordered.
gpu::EngineId id_of(const miopenConvSolution_t& solution, Sums sums) {
  gpu::EngineId id = {static_cast<std::int64_t>(solution.solution_id)};
  if (sums == Sums::unordered) id.push_back(1);
  return id;
}

/// One pass of one shape, described to MIOpen.
class PassProblem {
 public:
  PassProblem(std::shared_ptr<Handle> handle, const ConvolutionShape& shape, Pass pass)
      : handle_(std::move(handle)), shape_(shape), call_(calls_of(pass)) {}

  Result<Ok> describe() {
    const bool flat = is_flat(shape_);
    const gpu::Volume volumes[] = {shape_.x, weights_of(shape_), shape_.y};
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].status() != miopenStatusSuccess) {
        return refusal("tensor", tensors_[i].status());
      }
      const gpu::Extents extents = extents_of(volumes[i], flat);
      const auto sizes = ints_of(extents.sizes);
      const auto strides = ints_of(extents.strides);
      if (!sizes || !strides) {
        return Error{ErrorKind::bad_request,
                     fmt::format("MIOpen: convolution {} exceeds its 32-bit sizes",
                                 text_of(shape_, Pass::forward)),
                     "use a smaller batch_size"};
      }
      const miopenStatus_t status = miopenSetTensorDescriptor(
          tensors_[i].raw(), type_of(shape_.type), static_cast<int>(sizes->size()), sizes->data(),
          strides->data());
      if (status != miopenStatusSuccess) return refusal("tensor", status);
    }
    for (const Sums sums : {Sums::ordered, Sums::unordered}) {
      auto described = describe_window(sums, flat);
      if (!described) return described;
    }
    return Ok{};
  }

  /// In MIOpen's order, by measurements or estimates. Empty after a failure.
  std::vector<miopenConvSolution_t> solutions(Sums sums) const {
    std::size_t count = 0;
    if (call_.count(handle_->raw(), tensor(call_.first), tensor(call_.second), window(sums),
                    tensor(call_.result), &count) != miopenStatusSuccess) {
      return {};
    }
    std::vector<miopenConvSolution_t> all(count);
    if (call_.solutions(handle_->raw(), tensor(call_.first), tensor(call_.second), window(sums),
                        tensor(call_.result), all.size(), &count,
                        all.data()) != miopenStatusSuccess) {
      return {};
    }
    all.resize(std::min(count, all.size()));
    return all;
  }

  /// Compiles the solution's kernels. Returns whether MIOpen could.
  bool compiles(const miopenConvSolution_t& solution, Sums sums) const {
    return call_.compile(handle_->raw(), tensor(call_.first), tensor(call_.second), window(sums),
                         tensor(call_.result), solution.solution_id) == miopenStatusSuccess;
  }

  /// Returns MIOpen's error; empty: success.
  std::string run(const miopenConvSolution_t& solution, Sums sums, GpuStream stream,
                  const gpu::ConvolutionMemory& at) const {
    const std::array<void*, 3> by_role = {at.x, at.w, at.y};
    const auto array = [&](Role role) { return by_role[static_cast<std::size_t>(role)]; };
    miopenStatus_t status = handle_->use(stream);
    if (status == miopenStatusSuccess) {
      // MIOpen rejects a non-null workspace of zero bytes.
      status =
          call_.run(handle_->raw(), tensor(call_.first), array(call_.first), tensor(call_.second),
                    array(call_.second), window(sums), tensor(call_.result), array(call_.result),
                    solution.workspace_size > 0 ? at.workspace : nullptr, solution.workspace_size,
                    solution.solution_id);
    }
    return status == miopenStatusSuccess ? "" : miopenGetErrorString(status);
  }

 private:
  miopenTensorDescriptor_t tensor(Role role) const {
    return tensors_[static_cast<std::size_t>(role)].raw();
  }

  miopenConvolutionDescriptor_t window(Sums sums) const {
    return windows_[static_cast<std::size_t>(sums)].raw();
  }

  Result<Ok> describe_window(Sums sums, bool flat) {
    const auto padding = ints_of(gpu::axes_of(shape_.window.padding, flat));
    const auto stride = ints_of(gpu::axes_of(shape_.window.stride, flat));
    if (!padding || !stride) return refusal("window", miopenStatusBadParm);
    const std::vector<int> ones(padding->size(), 1);
    miopenStatus_t status = windows_[static_cast<std::size_t>(sums)].status();
    if (status == miopenStatusSuccess) {
      status = miopenInitConvolutionNdDescriptor(window(sums), static_cast<int>(padding->size()),
                                                 padding->data(), stride->data(), ones.data(),
                                                 miopenConvolution);
    }
    if (status != miopenStatusSuccess) return refusal("window", status);
    // Without FP16_ALT_IMPL = 0, gfx90a would round f16 inputs to bf16 in the backward passes.
    std::vector<std::pair<int, int>> attributes = {
        {MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC, sums == Sums::ordered ? 1 : 0},
        {MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL, 0}};
    if (loaded_version() >= tf32_since) attributes.emplace_back(math_type, pedantic);
    for (const auto& [name, value] : attributes) {
      status = miopenSetConvolutionAttribute(window(sums),
                                             static_cast<miopenConvolutionAttrib_t>(name), value);
      if (status != miopenStatusSuccess) return refusal("exact convolution", status);
    }
    return Ok{};
  }

  std::shared_ptr<Handle> handle_;
  ConvolutionShape shape_;
  const Calls& call_;
  std::array<Tensor, 3> tensors_;
  std::array<Window, 2> windows_;  // by Sums
};

gpu::Relaxation relaxation_with(Sums sums, const miopenConvSolution_t& solution) {
  return sums == Sums::unordered ? gpu::Relaxation::unordered : relaxation_of(solution.algorithm);
}

std::vector<gpu::Engine> listed(const PassProblem& problem) {
  std::vector<gpu::Engine> engines;
  for (const Sums sums : {Sums::ordered, Sums::unordered}) {
    for (const miopenConvSolution_t& one : problem.solutions(sums)) {
      const bool again = std::ranges::any_of(engines, [&](const gpu::Engine& engine) {
        return engine.id == id_of(one, Sums::ordered);
      });
      if (again) continue;
      engines.push_back({.id = id_of(one, sums), .relaxation = relaxation_with(sums, one)});
    }
  }
  return engines;
}

/// Plans the solution of this number; nullopt: MIOpen does not name it or cannot compile it.
std::optional<gpu::EnginePlan> plan_of(const std::shared_ptr<const PassProblem>& problem,
                                       const gpu::EngineId& id) {
  const Sums sums = id.size() > 1 ? Sums::unordered : Sums::ordered;
  for (const miopenConvSolution_t& one : problem->solutions(sums)) {
    if (id != id_of(one, sums)) continue;
    if (one.workspace_size > gpu::max_workspace || !problem->compiles(one, sums)) {
      return std::nullopt;
    }
    return gpu::EnginePlan{.id = id,
                           .relaxation = relaxation_with(sums, one),
                           .workspace = one.workspace_size,
                           .run = [=](GpuStream stream, const gpu::ConvolutionMemory& at) {
                             return problem->run(one, sums, stream, at);
                           }};
  }
  return std::nullopt;
}

}  // namespace

int loaded_version() {
  std::size_t major = 0;
  std::size_t minor = 0;
  std::size_t patch = 0;
  if (miopenGetVersion(&major, &minor, &patch) != miopenStatusSuccess) return 0;
  return static_cast<int>(major * 10000 + minor * 100 + patch);
}

gpu::Relaxation relaxation_of(miopenConvAlgorithm_t algorithm) {
  if (algorithm == miopenConvolutionAlgoWinograd) return gpu::Relaxation::winograd;
  return algorithm == miopenConvolutionAlgoFFT ? gpu::Relaxation::fft : gpu::Relaxation::none;
}

Result<Ok> Handle::open() {
  const miopenStatus_t status = miopenCreate(&raw_);
  if (status == miopenStatusSuccess) return Ok{};
  raw_ = nullptr;
  return Error{ErrorKind::unavailable,
               fmt::format("MIOpen cannot start: {}", miopenGetErrorString(status)), ""};
}

miopenStatus_t Handle::use(GpuStream stream) {
  if (stream == stream_) return miopenStatusSuccess;
  const miopenStatus_t status = miopenSetStream(raw_, stream);
  if (status == miopenStatusSuccess) stream_ = stream;
  return status;
}

Result<gpu::PassEngines> engines_of(std::shared_ptr<Handle> handle,
                                    const gpu::ConvolutionShape& shape, gpu::Pass pass) {
  if (shape.tf32) {
    return Error{ErrorKind::bad_request, "MIOpen: TF32 convolutions are not supported", ""};
  }
  auto problem = std::make_shared<PassProblem>(std::move(handle), shape, pass);
  if (auto described = problem->describe(); !described) return std::move(described).error();
  return gpu::PassEngines{
      .list = [problem] { return listed(*problem); },
      .plan = [problem](const gpu::EngineId& id) { return plan_of(problem, id); }};
}

}  // namespace dllaunch::miopen
